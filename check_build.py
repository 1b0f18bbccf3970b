"""Checks the requirements of a build before its long part.

Runs with any Python 3, before there is an environment. Each missing requirement is one line with a
remedy; the exit status is then 1.

    python3 check_build.py FOLDER
    ARCH=aarch64 CC=aarch64-linux-gnu-gcc python3 check_build.py --compiler CC

The second form looks at the compiler for another architecture only, and prints one line on standard
output if it is not right.
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
ELF_MACHINES = {"x86_64": 62, "aarch64": 183, "riscv64": 243, "ppc64le": 21, "loongarch64": 258}
"""Architecture, as Linux names it -> its number in the header of an ELF file."""
OTHER_NAMES = {"arm64": "aarch64", "amd64": "x86_64", "x86-64": "x86_64", "powerpc64le": "ppc64le"}
ELF_64_LITTLE = b"\x7fELF\x02\x01"
COMPILERS = {"CC": "gcc", "CXX": "g++"}


def package_of(variable, architecture):
    """Debian packages of the compiler that a variable names, for an architecture."""
    compiler = COMPILERS[variable]
    if architecture in (os.uname().machine, None):
        return compiler + " libc6-dev"
    triplet = {"ppc64le": "powerpc64le", "x86_64": "x86-64"}.get(architecture, architecture)
    return f"{compiler}-{triplet}-linux-gnu"


def wrong_architecture(name):
    """A line about an architecture for which nothing can be built, else None."""
    if name in (*ELF_MACHINES, os.uname().machine):
        return None
    if name in OTHER_NAMES:
        return f"the architecture {name} is called {OTHER_NAMES[name]}: ARCH={OTHER_NAMES[name]}"
    return f"there is no architecture {name}: choose ARCH from {', '.join(ELF_MACHINES)}"


def wrong_compiler(architecture, variable, command):
    """A line about a compiler that does not compile for an architecture, else None.

    command: its words. An empty file is compiled, and the header of the result read.
    """
    line = wrong_architecture(architecture)
    if line:
        return line
    cure = (
        f"name one for {architecture} with {variable} (Debian, Ubuntu: apt install "
        f"{package_of(variable, architecture)})"
    )
    if not command or shutil.which(command[0]) is None:
        return f"there is no compiler {' '.join(command[:1])}: {cure}"
    if architecture not in ELF_MACHINES:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, file = Path(folder, "empty.c"), Path(folder, "empty.o")
        source.write_text("int nothing;\n")
        done = subprocess.run(
            [*command, "-c", str(source), "-o", str(file)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            universal_newlines=True,  # noqa: UP021 - Python 3.6 may run this script
        )
        if done.returncode or not file.exists():
            said = (done.stderr.strip().splitlines() or ["no word why"])[0]
            return f"{' '.join(command)} cannot compile an empty file: {said}; {cure}"
        header = file.read_bytes()[:20]
    machine = int.from_bytes(header[18:20], "little")
    if header.startswith(ELF_64_LITTLE) and machine == ELF_MACHINES[architecture]:
        return None
    made = [name for name, number in ELF_MACHINES.items() if number == machine]
    made = made if header.startswith(ELF_64_LITTLE) else []
    return (
        f"{variable}={' '.join(command)} compiles for {(made or ['another architecture'])[0]}, not "
        f"for {architecture}: {cure}"
    )


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


def missing_compiler(variable, default, suffix):
    """Problems of the compiler in an environment variable with a small program."""
    package = package_of(variable, os.environ.get("ARCH"))
    command = shlex.split(os.environ.get(variable) or default)
    if shutil.which(command[0]) is None:
        yield (
            f"there is no compiler {command[0]}: install one (Debian, Ubuntu: apt install "
            f"{package}), or name it with {variable}"
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
            f"install {package})"
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
    if sys.argv[1:2] == ["--compiler"]:
        variable = sys.argv[2]
        command = shlex.split(os.environ.get(variable, ""))
        line = wrong_compiler(os.environ.get("ARCH") or os.uname().machine, variable, command)
        if line:
            print(line)
        return 1 if line else 0
    problems = [
        *missing_python(),
        *missing_compiler("CC", "cc", ".c"),
        *missing_compiler("CXX", "g++", ".cpp"),
        *missing_place(sys.argv[1] if len(sys.argv) > 1 else "build"),
    ]
    for line in problems:
        print(f"build: {line}", file=sys.stderr)
    return len(problems)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
