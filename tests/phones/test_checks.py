"""NNAPI_SHIM_CHECK: findings, the exit code, and programs without findings."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nnapi_shim import NnapiError
from nnapi_shim.phones.check_rules import (
    CHECKS,
    LEVELS,
    Checks,
    Suppression,
    level_of,
    parsed,
)
from nnapi_shim.tools.checked_run import CheckedRun, run_checked
from nnapi_shim.tools.execute import environment
from tests.cli.command import Command
from tests.phones.conftest import ROOT
from tests.phones.test_profile_files import written
from tests.waiting import HANGS_S

PAGE = ROOT / "docs" / "testing.md"


@pytest.fixture(scope="module")
def careless(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., CheckedRun]:
    """Runs careless.c, whose arguments say what it does, with checks."""
    program = tmp_path_factory.mktemp("careless") / "careless"
    flags = [f"-I{ROOT / 'include'}", f"-L{ROOT / 'build' / 'lib'}", "-lneuralnetworks", "-pthread"]
    source = Path(__file__).with_name("careless.c")
    subprocess.run(["cc", "-Wall", "-Wextra", source, *flags, "-o", program], check=True)

    def run(checks: str, *words: str, phone: str | None = None) -> CheckedRun:
        variables = environment(dict(os.environ), phone=phone)
        return run_checked([str(program), *words], variables, checks)

    return run


def test_words() -> None:
    assert parsed("all").ids == set(CHECKS) - {"padding"}
    checks = parsed("leaks,reuse min-level=3 report=/a b")
    assert checks == ({"leaks", "reuse"}, 3, "/a b", ())
    assert parsed("") == (set(), 8, "", ())
    assert {level_of(check) for check in (*CHECKS, "min-level")} == set(LEVELS)
    for text in ("leak", "min-level", "min-level=0", "min-level=9", "leaks=1"):
        with pytest.raises(NnapiError, match=r"there are all, leaks, .*min-level=1 to min-level=8"):
            parsed(text)


def test_a_careful_program(careless: Callable[..., CheckedRun]) -> None:
    assert careless("all min-level=5") == CheckedRun(0, [])


@pytest.mark.parametrize(
    ("word", "check", "text"),
    [
        ("leak", "leaks", r"the execution of call \d+ \(ANeuralNetworksExecution_create\) is not"),
        ("compile", "compile-again", r"the model of call 1 \(\w+\) is compiled 3 times; keep its"),
        (
            "build",
            "compile-again",
            r"the model of call \d+ \(\w+\) equals 2 others that were compiled",
        ),
        (
            "unmeasured",
            "timing",
            r"durations of the execution of call 11 \(\w+\) are read, and not",
        ),
        ("unread", "timing", r"the execution of call \d+ \(\w+\) measures durations, which nobody"),
        ("threads", "threads", r"two threads change the model of call 1 \(\w+\) in turn; their"),
        (
            "order",
            "lifetime",
            r"the model of call 1 \(\w+\) is freed before the compilation of call \d+ \(\w+\), w",
        ),
        ("execute", "reuse", r"the compilation of call 9 \(\w+\) had 3 executions, each used once"),
        ("shift", "alignment", r"input 0 is at 4 bytes after an address that 64 divides"),
    ],
)
def test_findings(careless: Callable[..., CheckedRun], word: str, check: str, text: str) -> None:
    run = careless("all", word)
    assert run.exit_code == 0
    result, message = run.findings[0]
    assert {it for it, _ in run.findings} == {check} == {result}
    assert re.match(text, message), message
    others = " ".join(set(CHECKS) - {check, "padding"})
    assert careless(others, word).findings == []


def test_padding(careless: Callable[..., CheckedRun]) -> None:
    findings = careless("padding").findings
    assert {check for check, _ in findings} == {"padding"}
    assert "input 0 has 8 bytes; preferred are multiples of 64, with" in findings[0][1]


def test_partitions(careless: Callable[..., CheckedRun], tmp_path: Path) -> None:
    def phone(*types: str) -> str:
        device = {"operations": [{"names": ["ADD"], "types": list(types)}]}
        return written(tmp_path, {"android": "12"}, device)

    missed = careless("partition", phone=phone("TENSOR_QUANT8_ASYMM")).findings
    assert len(missed) == 2
    check, text = missed[0]
    assert check == "partition"
    assert re.match(
        r"the compilation of call \d+ \(\w+\) runs on nnapi-reference; npu does not take ADD "
        r"\(operation 0\)",
        text,
    )
    assert careless("partition", phone=phone("TENSOR_FLOAT16")).findings == []
    assert careless("partition", phone="android-12").findings == []


def test_a_model_in_many_parts() -> None:
    """Through the C functions from Python, in a process of its own."""
    outcome = subprocess.run(
        [sys.executable, Path(__file__).with_name("many_parts.py")],
        env=dict(os.environ) | {"NNAPI_SHIM_PROFILE": "android-10-dsp", "NNAPI_SHIM_CHECK": "all"},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert "runs in 3 parts, on generic-dsp, nnapi-reference, generic-dsp" in outcome.stderr
    assert "generic-dsp does not take DEQUANTIZE (operation 1), TANH (op" in outcome.stderr


def test_calls_that_are_undefined_on_phones() -> None:
    """Those of docs/deviations.md that succeed here; one that succeeds everywhere gives none."""
    outcome = subprocess.run(
        [sys.executable, Path(__file__).with_name("undefined.py")],
        env=dict(os.environ) | {"NNAPI_SHIM_CHECK": "undefined lifetime"},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert (outcome.returncode, outcome.stdout) == (0, "")
    findings = re.findall(r"check (\w+) \(\w+\): .*?(?: \(([\w-]+)\))?$", outcome.stderr, re.M)
    assert findings == [
        ("undefined", "identify-half-way"),
        ("undefined", "bool-bytes"),
        ("undefined", "one-seed"),
        ("undefined", "aborts"),
        ("undefined", "memory-for-control-flow"),
        ("undefined", "loop-without-rounds"),
        *3 * [("lifetime", "")],
    ], outcome.stderr
    names = {deviation for _, deviation in findings if deviation}
    page = (ROOT / "docs" / "deviations.md").read_text()
    assert [name for name in names if f"### `{name}`" not in page] == []


def test_suppressions(careless: Callable[..., CheckedRun], tmp_path: Path) -> None:
    path = tmp_path / "suppressions"
    path.write_text("# known\n\nleaks: the execution of * (ANeuralNetworksExecution_create)*\n")
    assert careless(f"all suppress={path}", "leak").findings == []
    path.write_text("reuse: *\n*: no such text\n")
    assert len(careless(f"all suppress={path}", "leak").findings) == 1
    assert [it.check for it in parsed(f"suppress={path}").suppressions] == ["reuse", "*"]
    for text, message in (
        ("leaks\n", "it must be CHECK: PATTERN"),
        ("leek: *\n", "line 1 is 'leek: "),
        ("leaks:\n", "it must be CHECK: PATTERN"),
    ):
        path.write_text(text)
        with pytest.raises(NnapiError, match=message):
            parsed(f"suppress={path}")
    with pytest.raises(NnapiError, match="cannot be read"):
        parsed("suppress=/no/such/file")


def test_suppressions_that_match_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    from nnapi_shim.abi.check_report import CheckReport

    used, unused = (
        Suppression("leaks", "the model*", "a, line 1"),
        Suppression("*", "x", "a, line 2"),
    )
    report = CheckReport(Checks(frozenset({"leaks"}), 8, "", (used, unused)))
    report.finding("leaks", 1, "the model of call 1")
    report.finding("reuse", 1, "x")
    report.finish()
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].endswith("NNAPI_SHIM_CHECK: a, line 2 has suppressed nothing: *: x")


def test_levels(careless: Callable[..., CheckedRun]) -> None:
    result = [text for check, text in careless("min-level=2").findings if check == "min-level"]
    assert "ANeuralNetworksExecution_compute is of API level 29" in result
    assert "ADD (operation 0): inputs of TENSOR_FLOAT16 is of feature level 3" in result
    result = [text for _, text in careless("min-level=4").findings]
    assert result == ["ANeuralNetworksExecution_setReusable is of API level 31"]
    assert careless("min-level=5").findings == []


def test_exit_codes(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    words = ("exec", "--check", "leaks", "--")
    assert command(*words, "sh", "-c", "exit 7").code == 7
    assert command(*words, "sh", "-c", "kill -9 $$").code == 128 + 9
    assert command(*words, "true").code == 0
    assert command(*words, "no-such-program").code == 127
    leak = "import ctypes; library = ctypes.CDLL('libneuralnetworks.so')\n"
    leak += "library.ANeuralNetworksModel_create(ctypes.byref(ctypes.c_void_p()))"
    assert command(*words, sys.executable, "-c", leak).code == 1
    assert command("exec", "--fail-on", "error", *words[1:], sys.executable, "-c", leak).code == 0
    assert "no level 'bad'" in command.refuses("exec", "--fail-on", "bad", *words[1:], "true")
    assert "there is no check 'leak'" in command.refuses("exec", "--check", "leak", "--", "true")
    assert "goes without" in command.refuses("exec", "--sweep", "--check", "leaks", "--", "true")


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def test_the_page(tmp_path: Path) -> None:
    page = PAGE.read_text()
    assert [name for name in CHECKS if f"| `{name}` |" not in page] == []
    mark = "<!-- run by tests/phones/test_checks.py -->\n```sh\n"
    (block,) = re.findall(rf"{re.escape(mark)}(.*?)```", page, re.S)
    (tmp_path / "build").symlink_to(ROOT / "build")
    done = subprocess.run(
        ["sh", "-c", block],
        cwd=tmp_path,
        env=dict(os.environ) | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert "1 + 0.5 = 1.5" in done.stdout
    assert done.returncode == (1 if "warning: check " in done.stderr else 0)
