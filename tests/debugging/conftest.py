"""Compiles C programs, and runs them under tools that may be missing."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.waiting import HANGS_S

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
LIBRARIES = ROOT / "build" / "lib"
SUPPRESSIONS = ROOT / "nnapi_shim" / "debugging"


@pytest.fixture(scope="session")
def compile_c(tmp_path_factory):
    """A function that compiles a C file, by default of this folder, with arguments."""
    assert (LIBRARIES / "libneuralnetworks.so").exists(), "run make"
    folder = tmp_path_factory.mktemp("programs")

    def compile_source(name, *arguments, compiler="cc", source=None):
        program = folder / "-".join([name, compiler, *arguments]).replace("/", "_")
        command = [compiler, "-O1", "-g", "-Wall", "-Wextra", "-pthread", f"-I{ROOT / 'include'}"]
        command += ["-o", program, source or HERE / f"{name}.c", *arguments]
        command += [f"-L{LIBRARIES}", "-lneuralnetworks", "-lm"]
        if not program.exists():
            subprocess.run(command, check=True)
        return program

    return compile_source


@pytest.fixture(scope="session")
def mobilenet_block():
    """The example program."""
    program = ROOT / "build" / "c_examples" / "mobilenet_block"
    assert program.exists(), "run make"
    return program


def run(*command, libraries=LIBRARIES, **environment):
    """Runs a program with what it needs in the environment, and little more."""
    environment |= {"LD_LIBRARY_PATH": str(libraries), "PATH": os.environ["PATH"]}
    return subprocess.run(
        [str(word) for word in command],
        env=environment | {"HOME": "/nonexistent"},
        cwd="/",
        capture_output=True,
        text=True,
        errors="replace",
        timeout=HANGS_S,
        check=False,
    )


def need(tool):
    """Skips the test where a tool is not installed."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")


def gdb(program, *commands, libraries=LIBRARIES, **environment):
    """What gdb prints for commands, as docs/debugging.md gives them."""
    need("gdb")
    words = [word for command in commands for word in ("-ex", command)]
    done = run("gdb", "-nx", "-batch", *words, program, libraries=libraries, **environment)
    if re.search(r"ptrace: Operation not permitted|Couldn't get CS", done.stderr):
        pytest.skip("no program may be traced here")
    return done.stdout


def line_of(source, text, last=False):
    """The number of the line that has a text, or of the last that has."""
    lines = (HERE / source).read_text().splitlines()
    numbers = [number for number, line in enumerate(lines, 1) if text in line]
    assert last or len(numbers) == 1
    return numbers[-1]
