"""Compiles small C programs against the built library and runs them with a bare environment."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulation import bare_environment
from tests.waiting import HANGS_S

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))  # for build_ffi


@pytest.fixture(scope="session")
def library():
    """The library that make builds."""
    path = ROOT / "build" / "lib" / "libneuralnetworks.so"
    assert path.exists(), f"{path} is missing: run make"
    return path


@pytest.fixture(scope="session")
def compile_c(library, tmp_path_factory):
    """A function of a name and arguments that compiles and links the program of that name here."""
    folder = tmp_path_factory.mktemp("programs")

    def compile_source(name, *arguments, source=None):
        source = source or HERE / f"{name}.c"
        program = folder / name
        command = ["cc", "-O1", "-g", "-Wall", "-Wextra", "-pthread", f"-I{ROOT / 'include'}"]
        command += [f"-I{HERE}", source, "-o", program, *arguments]
        command += [library, f"-Wl,-rpath,{library.parent}"]
        if not program.exists():
            subprocess.run(command, check=True)
        return program

    return compile_source


def run(*command, env=None, cwd="/"):
    """Runs a program as `env -i` does; it has to end within a minute, or it hangs."""
    return subprocess.run(
        [str(word) for word in command],
        env=bare_environment() | (env or {}),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )


@pytest.fixture(scope="session")
def run_bare():
    """The function run()."""
    return run


@pytest.fixture
def run_well():
    """As run(), for a program that must succeed and print nothing."""

    def run_and_check(*command, **options):
        result = run(*command, **options)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")

    return run_and_check


@pytest.fixture
def run_python(library, run_well):
    """Runs Python code that uses the library; `path` is the library's path there."""

    def run_code(code, executable=sys.executable):
        prelude = f"import ctypes, threading\npath = {str(library)!r}\n"
        run_well(executable, "-c", prelude + code)

    return run_code
