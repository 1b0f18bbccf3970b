"""Captures of C programs."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.waiting import HANGS_S

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / "build" / "lib"
EXAMPLES = ROOT / "build" / "c_examples"
HERE = Path(__file__).resolve().parent


def compiled(source, program, *options):
    """Compiles a C program for the built library."""
    command = ["cc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-pthread", *options]
    command += [f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests' / 'abi'}", source, "-o", program]
    command += [f"-L{LIBRARIES}", "-lneuralnetworks", "-lm"]
    subprocess.run([str(word) for word in command], check=True)
    return program


def run(*command, **settings):
    """Runs a program in a bare environment."""
    return subprocess.run(
        [str(word) for word in command],
        env={"LD_LIBRARY_PATH": str(LIBRARIES), "PATH": os.environ["PATH"]}
        | {name: str(value) for name, value in settings.items()},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("captures")


@pytest.fixture(scope="session")
def program(folder):
    """What program.c is compiled to."""
    return compiled(HERE / "program.c", folder / "program")


@pytest.fixture(scope="session")
def example(folder):
    """Gives the capture of an example program, made once."""

    def made(name):
        file = folder / f"{name}.zip"
        if not file.exists():
            done = run(EXAMPLES / name, NNAPI_SHIM_CAPTURE=file)
            assert done.returncode == 0, done.stderr
            assert done.stdout == (ROOT / "c_examples" / f"{name}.expected").read_text()
            assert "capture" not in done.stderr
        return file

    return made


@pytest.fixture(scope="session")
def every_function(folder):
    """The capture of a program that uses every function, well and badly."""
    source = ROOT / "tests" / "memory" / "every_function.c"
    options = ["-D_GNU_SOURCE", f"-I{ROOT / 'include' / 'companion'}", "-lnativewindow"]
    program = compiled(
        source, folder / "every_function", f"-L{LIBRARIES}", "-Wl,--no-as-needed", *options
    )
    file = folder / "every_function.zip"
    done = run(program, "nnapi-cpu", 1, NNAPI_SHIM_CAPTURE=file, NNAPI_SHIM_LOG="warning")
    assert done.returncode == 0, done.stderr
    assert "NNAPI_SHIM_CAPTURE" not in done.stderr
    return file
