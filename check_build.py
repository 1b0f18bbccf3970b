"""Checks the requirements of a build before its long part.

Runs with any Python 3, before there is an environment. Each missing requirement is one line with a
remedy; the exit status is then 1.

    python3 check_build.py FOLDER
"""

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

NEEDED_MB = 700
"""Required space: the environment with its packages, objects and libraries."""

OLDEST = (3, 10)


def missing_python():
    """Missing parts of the running Python for an environment and for compiling."""
    if sys.implementation.name != "cpython" or sys.version_info < OLDEST:
        yield (
            f"{sys.executable} is {sys.implementation.name} {sys.version.split()[0]}: CPython "
            f"{OLDEST[0]}.{OLDEST[1]} or newer is needed; name one with `make PYTHON=python3.12`"
        )
        return
    lacking = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if lacking:
        yield (
            f"{sys.executable} has no {' and no '.join(lacking)}: install it (Debian, Ubuntu: "
            "apt install python3-venv)"
        )
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.exists():
        yield (
            f"{header} is missing: install the headers of this Python (Debian, Ubuntu: apt install "
            "python3-dev)"
        )


def missing_compiler(variable, default, suffix, package):
    """Problems of the compiler in an environment variable with a small program."""
    command = shlex.split(os.environ.get(variable) or default)
    if shutil.which(command[0]) is None:
        yield (
            f"there is no compiler {command[0]}: install one (Debian, Ubuntu: apt install "
            f"{package} libc6-dev), or name it with {variable}"
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "tiny" + suffix)
        source.write_text("#include <stdint.h>\n#include <stdio.h>\nint main(void) { return 0; }\n")
        done = subprocess.run(
            [*command, str(source), "-o", str(Path(folder, "tiny")), "-lm"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            universal_newlines=True,  # noqa: UP021 - Python 3.6 may run this script
        )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no word why"])[0]
        yield (
            f"{' '.join(command)} cannot compile a small program: {said} (Debian, Ubuntu: apt "
            f"install {package} libc6-dev)"
        )


def missing_place(folder):
    """Problems of the folder or its nearest existing parent: no write permission, no space."""
    parent = Path(folder).resolve()
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        yield f"{parent} cannot be written: build in a folder that is yours"
        return
    free = shutil.disk_usage(parent).free >> 20
    if free < NEEDED_MB:
        yield f"{parent} has {free} MB free, {NEEDED_MB} are needed: make room"


def main():
    """Print all problems and return their number."""
    problems = [
        *missing_python(),
        *missing_compiler("CC", "cc", ".c", "gcc"),
        *missing_compiler("CXX", "g++", ".cpp", "g++"),
        *missing_place(sys.argv[1] if len(sys.argv) > 1 else "build"),
    ]
    for line in problems:
        print(f"build: {line}", file=sys.stderr)
    return len(problems)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
