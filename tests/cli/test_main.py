"""What holds for every command: help, errors, exit codes, pipes."""

import builtins
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nnapi_shim import __version__, cli
from nnapi_shim.cli.app import COMMANDS
from nnapi_shim.extras import install_command
from tests.cli.command import Command


def test_version(command: Command) -> None:
    assert command.succeeds("--version").out == f"nnapi-shim {__version__}\n"


def test_help_lists_every_command(command: Command) -> None:
    text = command.succeeds("--help").out
    assert command.succeeds().out == text
    for function in COMMANDS:
        assert f"\n  {function.__name__.rstrip('_')} " in text


@pytest.mark.parametrize("name", [function.__name__.rstrip("_") for function in COMMANDS])
def test_help_has_an_example(command: Command, name: str) -> None:
    text = command.succeeds(name, "--help").out
    assert f"nnapi-shim {name}" in text.partition("Example")[2]


def test_unknown_command(command: Command) -> None:
    assert "'inf'" in command.refuses("inf")


def test_unknown_option(command: Command) -> None:
    line = command.refuses("info", "--nothing")
    assert "--nothing" in line
    assert "see `nnapi-shim info --help`" in line


def test_missing_package(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without_typer(name: str, *arguments: Any) -> Any:
        if name == "typer":
            raise ModuleNotFoundError("No module named 'typer'", name="typer")
        return original(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without_typer)
    assert f"`{install_command('tools')}`" in command.refuses("info")


def test_interrupt(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(arguments: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_run", interrupted)
    outcome = command("info")
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "")


def test_closed_pipe() -> None:
    reader = subprocess.Popen(
        [sys.executable, "-m", "nnapi_shim", "info"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert reader.stdout is not None
    reader.stdout.close()
    _, err = reader.communicate()
    assert reader.returncode == 2
    assert err.splitlines() == ["nnapi-shim: nobody reads the output any more"]


def test_full_disk() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "nnapi_shim", "info"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["nnapi-shim: No space left on device"]


def test_odd_names(tmp_path: Path) -> None:
    """Names of other people's models do nothing to a terminal, whatever letters it has."""
    (tmp_path / "odd.py").write_text(
        "import nnapi_shim\n"
        "with nnapi_shim.Model() as model:\n"
        "    x = model.input('TENSOR_FLOAT32', [2], name='caf\\u00e9 \\x1b[31m')\n"
        "    model.outputs(model.operation('RELU', [x]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "nnapi_shim", "run", tmp_path / "odd.py"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"caf\\xe9 \\x1b[31m" in done.stdout


def test_help_is_not_cut(command: Command) -> None:
    text = " ".join(command.succeeds("--help").out.split())
    assert "..." not in text.partition("Commands:")[2]
    for function in COMMANDS:
        sentence = " ".join((function.__doc__ or "").split()).partition(".")[0]
        assert sentence.partition(" ")[0] in text


def test_without_packages(tmp_path: Path) -> None:
    """`config` and `--version` need the standard library alone."""
    hidden = "".join(
        f"sys.modules[{name!r}] = None;" for name in ("typer", "rich", "numpy", "cffi", "click")
    )
    for words in (["--version"], ["config", "--cflags", "--libs"], ["config"]):
        code = f"import sys; {hidden} from nnapi_shim.cli import main; sys.exit(main({words!r}))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), words
        assert done.stdout


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("variable", "is_red"), [("NOTHING", True), ("NO_COLOR", False)])
def test_errors_are_red_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, variable: str, is_red: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(variable, "1")
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert cli.main(["info", "--nothing"]) == 2
    assert sys.stderr.getvalue().startswith("\x1b[31mnnapi-shim: ") is is_red


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("explain model.py --device nnapi-", {"nnapi-cpu", "nnapi-reference"}),
        ("bench model.py --peer l", {"litert"}),
        ("explain model.py --preference L", {"LOW_POWER"}),
        ("graph model.py --colour t", {"time"}),
        ("exec --log s", {"silent", "silent,json"}),
        ("info --setting NNAPI_SHIM_TH", {"NNAPI_SHIM_THREADS"}),
    ],
)
def test_completion(words: str, values: set[str]) -> None:
    variables = {
        "_NNAPI_SHIM_COMPLETE": "complete_bash",
        "COMP_WORDS": f"nnapi-shim {words}",
        "COMP_CWORD": str(len(words.split())),
    }
    done = subprocess.run(
        [sys.executable, "-m", "nnapi_shim"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) == values
