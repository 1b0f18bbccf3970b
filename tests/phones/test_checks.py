"""NNAPI_SHIM_CHECK: findings, the exit code, and programs without findings."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nnapi_shim import NnapiError
from nnapi_shim.phones.check_rules import CHECKS, parsed
from nnapi_shim.tools.checked_run import CheckedRun, run_checked
from nnapi_shim.tools.execute import environment
from tests.cli.command import Command
from tests.phones.conftest import ROOT
from tests.waiting import HANGS_S

PAGE = ROOT / "docs" / "testing.md"


@pytest.fixture(scope="module")
def careless(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., CheckedRun]:
    """Runs careless.c, whose arguments say what it does, with checks."""
    program = tmp_path_factory.mktemp("careless") / "careless"
    flags = [f"-I{ROOT / 'include'}", f"-L{ROOT / 'build' / 'lib'}", "-lneuralnetworks"]
    source = Path(__file__).with_name("careless.c")
    subprocess.run(["cc", "-Wall", "-Wextra", source, *flags, "-o", program], check=True)

    def run(checks: str, *words: str) -> CheckedRun:
        return run_checked([str(program), *words], environment(dict(os.environ)), checks)

    return run


def test_words() -> None:
    assert parsed("all").ids == set(CHECKS)
    checks = parsed("leaks,reuse min-level=3 report=/a b")
    assert checks == ({"leaks", "reuse"}, 3, "/a b")
    assert parsed("") == (set(), 8, "")
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
        ("execute", "reuse", r"the compilation of call 9 \(\w+\) had 3 executions, each used once"),
        ("shift", "alignment", r"input 0 is at 4 bytes after an address that 64 divides"),
    ],
)
def test_findings(careless: Callable[..., CheckedRun], word: str, check: str, text: str) -> None:
    run = careless("all", word)
    assert run.exit_code == 0
    ((result, message),) = run.findings
    assert result == check
    assert re.match(text, message), message
    others = " ".join(set(CHECKS) - {check})
    assert careless(others, word).findings == []


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
