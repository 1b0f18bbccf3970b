"""Installed trees: the wheel in an environment, `make install`, the tarball, the Debian package."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.waiting import HANGS_S

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = Path(__file__).resolve().parent / "projects"
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
TRIPLET = f"{os.uname().machine}-linux-gnu"


class Tree(NamedTuple):
    """Where things are. prefix: for CMake. libraries: for -L."""

    prefix: Path
    libraries: Path

    @property
    def pkgconfig(self) -> Path:
        """The folder of .pc files."""
        return self.libraries / "pkgconfig"


def finished(*command: object, **options: object) -> str:
    """What a command prints on stdout; what it says is the failure."""
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **options
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout


def needs(*tools: str) -> None:
    """Skips a test, in words, where a tool is missing."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


def make_wheel(folder: Path, **environment: str) -> Path:
    """The wheel of this checkout, with what this environment has."""
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    finished(*PIP, "wheel", *options, ROOT, env={**os.environ, **environment})
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_environment(folder: Path, python: Path | str = sys.executable) -> Path:
    """An empty virtual environment; gives its python."""
    finished(python, "-m", "venv", "--without-pip", folder)
    return folder / "bin" / "python"


def install_wheel(wheel: Path, python: Path) -> Tree:
    """Installs the wheel and what it requires into the environment of `python`."""
    finished(*PIP, "--python", python, "install", "--only-binary", ":all:", wheel)
    where = "import nnapi_shim; print(nnapi_shim.get_library_dir())"
    libraries = Path(finished(python, "-c", where, cwd="/").strip())
    return Tree(libraries.parent, libraries)


def make_prefix(folder: Path) -> Tree:
    """`make install`, which needs no network after `make`."""
    offline = {k: v for k, v in os.environ.items() if k != "PIP_FIND_LINKS"}
    offline |= {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    finished("make", "install", f"PREFIX={folder}", cwd=ROOT, env=offline)
    return Tree(folder, folder / "lib")


def make_tarball(folder: Path) -> Tree:
    """`make dist`, unpacked."""
    finished(sys.executable, "-m", "install", "dist", "--out", folder, cwd=ROOT)
    (archive,) = folder.glob("*.tar.xz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="tar")
    (unpacked,) = (path for path in folder.iterdir() if path.is_dir())
    return Tree(unpacked, unpacked / "lib")


def make_debian(folder: Path) -> Tree:
    """`make deb`, unpacked."""
    needs("dpkg-deb")
    finished(sys.executable, "-m", "install", "deb", "--out", folder, cwd=ROOT)
    for package in folder.glob("*.deb"):
        finished("dpkg-deb", "-x", package, folder / "root")
    prefix = folder / "root" / "usr"
    return Tree(prefix, prefix / "lib" / TRIPLET)


def runs(program: Path, libraries: Path) -> None:
    """Runs the program of projects/add.c in an empty environment."""
    env = {"LD_LIBRARY_PATH": str(libraries)}
    result = subprocess.run(
        [program], env=env, cwd="/", capture_output=True, text=True, timeout=HANGS_S
    )
    ours = [line for line in result.stderr.splitlines() if "I/add: done" not in line]
    assert (result.returncode, result.stdout, ours) == (0, "3.75\n", [])
