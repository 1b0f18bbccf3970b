"""Sweeps: planted errors are found, right programs are right, and reports do not change."""

import os
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import sleep

import pytest

from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.levels import FUNCTION_LEVELS
from nnapi_shim.tools.execute import environment
from nnapi_shim.tools.sweep import FaultRun, Sweep, junit, sweep
from nnapi_shim.tools.sweep_codes import codes_of
from tests.cli.command import Command
from tests.phones.conftest import ROOT
from tests.waiting import HANGS_S

EXAMPLES = ROOT / "build" / "c_examples"
PAGE = ROOT / "docs" / "testing.md"
Compiled = Callable[..., Path]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in which no other test writes files."""
    monkeypatch.chdir(tmp_path)


def swept(*words: object, **options: object) -> Sweep:
    return sweep([str(word) for word in words], environment(dict(os.environ)), **options)  # type: ignore[arg-type]


def outcomes(report: Sweep) -> dict[str, set[str]]:
    """Function -> the outcomes of runs in which it fails."""
    result: dict[str, set[str]] = {}
    for run in report.runs:
        result.setdefault(run.function.removeprefix("ANeuralNetworks"), set()).add(run.outcome)
    return result


@pytest.mark.parametrize("example", ["simple_add", "caching", "dynamic_shapes"])
def test_examples_are_right(example: str) -> None:
    report = swept(EXAMPLES / example, most_calls=2)
    assert report.findings == []
    assert {run.outcome for run in report.runs} == {"failed"}
    assert {run.exit_code for run in report.runs} == {1}


def test_a_leak(compiled: Compiled) -> None:
    report = swept(compiled("leak.c", "-lneuralnetworks"))
    assert report.alive == {}
    result = outcomes(report)
    leaks = ("Execution_setInput", "Execution_setOutput", "Execution_compute")
    for name, seen in result.items():
        assert seen == ({"leaked"} if name in leaks else {"failed"}), name
    assert {run.details for run in report.findings} == {"not freed: 1 execution"}
    assert Counter(run.code for run in report.runs)["DEAD_OBJECT"] == 2


def test_errors_that_are_not_checked(compiled: Compiled) -> None:
    result = outcomes(swept(compiled("unchecked.c", "-lneuralnetworks")))
    assert result["Model_create"] == result["Model_addOperation"] == {"crashed"}
    assert result["Compilation_finish"] == {"continued"}
    assert result["Execution_compute"] == {"unnoticed"}
    assert result["Compilation_create"] == {"failed"}


def test_a_program_that_hangs(tmp_path: Path) -> None:
    source = tmp_path / "hang.py"
    source.write_text(
        "import ctypes, time\n"
        "library = ctypes.CDLL('libneuralnetworks.so')\n"
        "model = ctypes.c_void_p()\n"
        "while library.ANeuralNetworksModel_create(ctypes.byref(model)): time.sleep(60)\n"
        "library.ANeuralNetworksModel_free(model)\n"
    )
    report = swept(sys.executable, source, limit_s=3)
    assert [(run.outcome, run.exit_code) for run in report.runs] == [("hung", None)]


def test_output_that_changes_is_not_compared(tmp_path: Path) -> None:
    source = tmp_path / "random.py"
    source.write_text(
        "import ctypes, os\n"
        "library = ctypes.CDLL('libneuralnetworks.so')\n"
        "model = ctypes.c_void_p()\n"
        "print(os.getpid(), library.ANeuralNetworksModel_create(ctypes.byref(model)))\n"
    )
    report = swept(sys.executable, source)
    assert not report.compares_output
    assert [run.outcome for run in report.runs] == ["recovered"]
    assert report.alive == {"model": 1}


def test_on_a_phone(compiled: Compiled) -> None:
    variables = environment(dict(os.environ), phone="android-10-gpu")
    report = sweep([str(compiled("leak.c", "-lneuralnetworks"))], variables)
    assert {run.outcome for run in report.findings} == {"leaked"}


def test_commands_and_junit(command: Command, compiled: Compiled, tmp_path: Path) -> None:
    program = compiled("leak.c", "-lneuralnetworks")
    words = ("exec", "--sweep", "--calls", 1, "--junit", "x.xml", "--", program)
    first = command(*words)
    assert (first.code, first.err) == (1, "")
    assert re.search(r"^leaked +ANeuralNetworksExecution_compute +1 +DEAD_OBJECT ", first.out, re.M)
    assert "repeat one: nnapi-shim exec --faults 'function=Execution_setInput nth=1" in first.out
    xml = Path("x.xml").read_bytes()
    suite = ET.fromstring(xml)
    assert suite.get("failures") == str(len(suite.findall("testcase/failure"))) == "10"
    assert suite.get("tests") == str(len(suite.findall("testcase"))) == "26"
    assert "is there already" in command.refuses(*words)
    second = command(*words[:2], "--force", "--jobs", 1, *words[2:])
    assert (second.out, Path("x.xml").read_bytes()) == (first.out, xml)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("pass", "makes no call of NNAPI in its own process"),
        ("raise SystemExit(3)", "gives exit code 3 without a fault"),
        ("import os; os.abort()", "is ended by signal 6 without a fault"),
        ("import os; os.fork(); {call}", "uses NNAPI in 2 processes, whose calls"),
        ("import os; {call}; os.fork() or {call}", "uses NNAPI in 2 processes, whose calls"),
        ("{call}; open('out.txt', 'w').close()", "writes files in the current folder (out.txt)"),
        ("{call}; open('new.txt', 'a').close()", "writes files in the current folder (new.txt)"),
        ("import os; {call}; os.execvp('true', ['true'])", "makes no call of NNAPI in its own"),
        ("import os; {call}; os._exit(0)", "ends by exit() or a return from main()"),
    ],
)
def test_programs_that_cannot_be_swept(command: Command, program: str, message: str) -> None:
    call = "__import__('ctypes').CDLL('libneuralnetworks.so').ANeuralNetworksModel_create(None)"
    code = program.replace("{call}", call)
    words = ("exec", "--sweep", "--junit", "x.xml", "--", sys.executable, "-c", code)
    assert message in command.refuses(*words)
    assert not Path("x.xml").exists()


def is_running(number: str) -> bool:
    """Whether there is such a process, other than one that has ended."""
    try:
        return Path("/proc", number, "cmdline").read_bytes() != b""
    except FileNotFoundError:
        return False


HOSTILE = """
import ctypes, os, shutil, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
shutil.rmtree(os.environ["TMPDIR"])
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    with open(sys.argv[1], "a") as file:
        file.write(f"{os.getpid()} ")
    os.write(writing, b".")
    time.sleep(1000)
os.read(reading, 1)
library = ctypes.CDLL("libneuralnetworks.so")
model = ctypes.c_void_p()
if library.ANeuralNetworksModel_create(ctypes.byref(model)):
    open("error.log", "w").close()
    os.abort()
print("x" * 100_000)
library.ANeuralNetworksModel_free(model)
"""


def test_a_program_that_leaves_things_behind(tmp_path: Path, command: Command) -> None:
    """A daemon that holds stdout, its temporary folder removed, files of failing runs, a crash."""
    source, daemons = tmp_path / "hostile.py", tmp_path / "elsewhere" / "daemons"
    source.write_text(HOSTILE)
    daemons.parent.mkdir()
    daemons.touch()
    outcome = command("exec", "--sweep", "--", sys.executable, source, daemons)
    assert outcome.code == 1
    assert "1 run with a failing call: 1 crashed; 1 finding" in outcome.out
    assert "runs with a failing call wrote files here: error.log" in outcome.out
    assert not list(tmp_path.glob("core*"))
    numbers = daemons.read_text().split()
    assert len(numbers) == 3
    assert not any(map(is_running, numbers))


SLOW = """
import ctypes, os, sys, time
library = ctypes.CDLL("libneuralnetworks.so")
model = ctypes.c_void_p()
if library.ANeuralNetworksModel_create(ctypes.byref(model)):
    open(sys.argv[1], "w").write(f"{os.getpid()} {os.environ['TMPDIR']} .")
    time.sleep(1000)
library.ANeuralNetworksModel_free(model)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_sweep_that_is_ended(tmp_path: Path, number: signal.Signals, code: int) -> None:
    source, told = tmp_path / "slow.py", tmp_path / "elsewhere" / "told"
    source.write_text(SLOW)
    told.parent.mkdir()
    told.touch()
    words = [sys.executable, "-m", "nnapi_shim", "exec", "--sweep", "--junit", "x.xml", "--"]
    with subprocess.Popen([*words, sys.executable, source, told]) as process:
        while not told.read_text().endswith("."):
            assert process.poll() is None
            sleep(0.01)
        process.send_signal(number)
        assert process.wait(HANGS_S) == code
    pid, folder, _ = told.read_text().split()
    assert not is_running(pid)
    assert not Path(folder).exists()
    assert not Path("x.xml").exists()


def test_options_that_do_not_fit(command: Command) -> None:
    assert "goes without" in command.refuses("exec", "--sweep", "--faults", "seed=1", "--", "true")
    assert "'x=1'" in command.refuses("exec", "--faults", "x=1", "--", "true")
    missing = command("exec", "--sweep", "--", "no-such-program")
    assert (missing.code, missing.out) == (127, "")


def test_junit_of_names_with_markup() -> None:
    run = FaultRun('a<"b', 1, "OP_FAILED", "crashed", -11, "signal <11>", "function='&'")
    text = junit(Sweep(["./p&q"], 0, {}, 0, {}, True, [run]))
    case = ET.fromstring(text).find("testcase")
    assert case is not None
    assert case.get("name") == 'a<"b call 1 OP_FAILED'
    assert case.find("failure") is not None


def test_codes() -> None:
    assert codes_of("ANeuralNetworksModel_create") == (ResultCode.OUT_OF_MEMORY,)
    assert ResultCode.DEAD_OBJECT in codes_of("ANeuralNetworksExecution_compute")
    known = {name.removeprefix("ANeuralNetworks") for name in FUNCTION_LEVELS}
    from nnapi_shim.tools import sweep_codes

    assert set(sweep_codes._CODES) <= known


def test_commands_of_the_page(tmp_path: Path) -> None:
    """The commands that the page shows, one of which ends with the exit code of its program."""
    (tmp_path / "build").symlink_to(ROOT / "build")
    blocks = re.findall(
        r"<!-- run by tests/phones/test_sweep.py -->\n```sh\n(.*?)```", PAGE.read_text(), re.S
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    codes = []
    for block in blocks:
        done = subprocess.run(
            ["sh", "-c", block],
            env=dict(os.environ) | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=HANGS_S,
            check=False,
        )
        codes.append(done.returncode)
    assert codes == [1, 0]
