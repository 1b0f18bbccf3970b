"""Settings in a file, and variables that are no settings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nnapi_shim import NnapiError, settings
from nnapi_shim.settings import SETTINGS
from nnapi_shim.tools.execute import environment
from nnapi_shim.tools.info import info
from tests.waiting import HANGS_S

BUILD = Path(__file__).resolve().parents[1] / "build"
PROGRAM, LIBRARIES = BUILD / "c_examples" / "simple_add", BUILD / "lib"

FILE = """
# of every program
NNAPI_SHIM_THREADS = 3
NNAPI_SHIM_LNT = 1
NNAPI_SHIM_PYTHON = /usr
NNAPI_SHIM_TIER
[debug]
NNAPI_SHIM_LINT = 1
NNAPI_SHIM_BREAK = 1
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the settings of this test are read from."""
    path = tmp_path / "settings.conf"
    path.write_text(FILE)
    path.chmod(0o600)
    monkeypatch.setenv("NNAPI_SHIM_CONFIG", str(path))
    monkeypatch.delenv("NNAPI_SHIM_THREADS", raising=False)
    monkeypatch.setattr(settings, "_in_file", None)
    monkeypatch.setattr(settings, "_refused", {})
    return path


def reported(capfd: pytest.CaptureFixture[str]) -> list[str]:
    lines = capfd.readouterr().err.splitlines()
    return [line.removeprefix("nnapi_shim warning: ") for line in lines]


def test_a_file(file: Path, monkeypatch, capfd) -> None:
    assert settings.THREADS.get() == "3"
    assert settings.THREADS.origin == str(file)
    assert settings.LINT.get() == "0"
    assert settings.LINT.origin == "default"
    first, second, third = reported(capfd)
    unused = "NNAPI_SHIM_LNT is no setting and has no effect; did you mean NNAPI_SHIM_LINT?"
    assert first == f"{file}:4: {unused}"
    assert second.startswith(f"{file}:5: NNAPI_SHIM_PYTHON is read before this file;")
    assert third == f"{file}:6: 'NNAPI_SHIM_TIER' is no line such as NNAPI_SHIM_LINT = 1"
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "2")
    assert (settings.THREADS.get(), settings.THREADS.origin) == ("2", "environment")
    (shown,) = [each for each in info().settings if each.name == "NNAPI_SHIM_CONFIG"]
    assert (shown.value, shown.origin) == (str(file), "environment")
    assert reported(capfd) == []


def test_the_file_of_the_user(file: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("NNAPI_SHIM_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert settings.THREADS.get() == "0"
    monkeypatch.setattr(settings, "_in_file", None)
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".config" / "nnapi_shim"
    folder.mkdir(parents=True)
    file.rename(folder / "settings.conf")
    assert settings.THREADS.get() == "3"


def test_files_that_are_not_used(file: Path, monkeypatch, capfd) -> None:
    file.chmod(0o666)
    assert settings.THREADS.get() == "0"
    (line,) = reported(capfd)
    assert line.startswith(f"{file}: the settings are not used, because another user")
    monkeypatch.setattr(settings, "_in_file", None)
    file.unlink()
    assert settings.THREADS.get() == "0"
    assert reported(capfd) == [f"{file}: the settings cannot be read: No such file or directory"]


def test_a_program_with_raised_privileges_reads_no_file(file: Path, monkeypatch) -> None:
    monkeypatch.setattr(settings, "_environment_counts", False)
    assert settings.THREADS.get() == "0"
    assert settings.THREADS.origin == "default"
    assert settings._in_file is None


def test_profiles(file: Path) -> None:
    result = environment({"NNAPI_SHIM_LINT": "0"}, settings_profile="debug")
    assert (result["NNAPI_SHIM_LINT"], result["NNAPI_SHIM_BREAK"]) == ("1", "1")
    with pytest.raises(NnapiError, match=r"no profile 'fast' in .*settings.conf.*there are debug"):
        environment({}, settings_profile="fast")


def test_c_programs(file: Path) -> None:
    """They read the file, and warn once of a variable that is no setting."""
    file.write_text("NNAPI_SHIM_THREADS = many\n")
    done = subprocess.run(
        [PROGRAM],
        env={
            "NNAPI_SHIM_CONFIG": str(file),
            "NNAPI_SHIM_THREDS": "1",
            "LD_LIBRARY_PATH": str(LIBRARIES),
        },
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=True,
    )
    first, second = sorted(done.stderr.splitlines())
    assert "NNAPI_SHIM_THREADS is 'many', which is not used" in first
    assert second == (
        "nnapi_shim warning: NNAPI_SHIM_THREDS is no setting and has no effect; did you mean "
        "NNAPI_SHIM_THREADS?"
    )


def test_without_a_file_nothing_is_imported() -> None:
    code = (
        "import sys; from nnapi_shim import settings; settings.LINT.get();"
        "assert 'nnapi_shim.settings_file' not in sys.modules, 'imported'"
    )
    environment = {"XDG_CONFIG_HOME": "/nonexistent", "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code], env=environment, timeout=HANGS_S, check=True)


def test_names_that_the_build_takes_are_no_mistakes(file: Path, monkeypatch, capfd) -> None:
    file.write_text("")
    monkeypatch.setenv("NNAPI_SHIM_BUILD_TIER", "v3")
    for setting in SETTINGS:
        setting.get()
    assert reported(capfd) == []


def test_a_pipe_has_no_settings_and_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "settings.conf"
    os.mkfifo(pipe, 0o666)
    code = "from nnapi_shim.settings import THREADS; print(THREADS.get())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NNAPI_SHIM_CONFIG": str(pipe)},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
    )
    assert done.returncode == 0, done.stderr
