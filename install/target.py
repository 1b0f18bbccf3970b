"""The architecture that packages are for: this machine's, or another one, named by ARCH.

The Python that a package for another architecture has comes from Debian: its packages are unpacked
into build/ARCH/python, which needs neither root rights nor an emulator.
"""

import gzip
import os
import platform
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

from build_ffi import ROOT, libpython
from install.origins import Origin, library_licence, of_machine

SUITES = {"3.11": "bookworm", "3.13": "trixie"}
"""Version of Python -> the Debian with it."""
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64el"}
"""Architecture -> Debian's name, where it is another one."""
PACKAGES = "libpython{version},libstdc++6"
TAGS = ("2_28", "2_27", "2_17")
"""Of manylinux, which wheels of others may have."""
VERSION_TEXT = re.compile(rb"\0(3\.\d+\.\d+)\0")
CHANGELOG_VERSION = re.compile(r"\S+ \((.+?)\)")
PACKAGE_NAMES = {"libz": "zlib1g"}
"""Library -> Debian's package, where the package is not named after its soname."""


class Target(NamedTuple):
    """An architecture, and its Python.

    standard, compiled: the folders of the standard library and of its compiled modules. root: the
    folder with Debian's packages; None for this machine.
    """

    machine: str
    libpython: Path
    standard: Path
    compiled: Path
    root: Path | None = None

    @property
    def debian(self) -> str:
        """Debian's name of the architecture."""
        return DEBIAN.get(self.machine, self.machine)

    @property
    def triplet(self) -> str:
        """Of the folders of Debian's libraries."""
        return f"{self.machine.replace('ppc64le', 'powerpc64le')}-linux-gnu"

    @property
    def strip(self) -> str:
        """The command that strips libraries."""
        return "strip" if self.root is None else f"{self.triplet}-strip"

    @property
    def python_version(self) -> str:
        """All three parts of the version of its Python."""
        if self.root is None:
            return platform.python_version()
        found = VERSION_TEXT.search(self.libpython.read_bytes())
        return found[1].decode() if found else sysconfig.get_python_version()

    def licences(self) -> list[Path]:
        """Where the licence of its Python may be."""
        document = f"usr/share/doc/python{sysconfig.get_python_version()}/copyright"
        shared = document.replace("doc/python", "doc/libpython")
        root = self.root or Path("/")
        return [self.standard / "LICENSE.txt", root / document, root / shared]

    def library(self, name: str) -> Path | None:
        """A shared library of the system."""
        if self.root is not None:
            folders = [self.root / part / self.triplet for part in ("usr/lib", "lib")]
            return next((each / name for each in folders if (each / name).exists()), None)
        text = subprocess.check_output(["cc", f"-print-file-name={name}"], text=True).strip()
        return Path(text) if Path(text).is_absolute() else None

    def origin(self, library: str) -> Origin:
        """The system package of a library."""
        if self.root is None:
            return of_machine(library)
        stem, _, number = library.partition(".so.")
        number = number.partition(".")[0]
        dash = "-" if stem[-1].isdigit() else ""
        package = PACKAGE_NAMES.get(stem, f"{stem.replace('_', '-')}{dash}{number}")
        changelog = self.root / "usr/share/doc" / package / "changelog.Debian.gz"
        first = gzip.decompress(changelog.read_bytes()).decode().partition("\n")[0]
        version = (CHANGELOG_VERSION.match(first) or [""] * 2)[1]
        purl = f"pkg:deb/debian/{package}@{version}?arch={self.debian}"
        return Origin(package, version, library_licence(library), purl)

    def pip_options(self) -> list[str]:
        """Arguments of `pip install --target` for its wheels."""
        if self.root is None:
            return []
        version = sysconfig.get_python_version()
        options = ["--python-version", version, "--implementation", "cp"]
        for tag in TAGS:
            options += ["--platform", f"manylinux_{tag}_{self.machine}"]
        for abi in (f"cp{version.replace('.', '')}", "abi3", "none"):
            options += ["--abi", abi]
        return options


def target(machine: str | None = None) -> Target:
    """The architecture in ARCH, or this machine's."""
    machine = machine or os.environ.get("ARCH") or os.uname().machine
    if machine == os.uname().machine:
        return Target(
            machine,
            libpython(),
            Path(sysconfig.get_path("stdlib")),
            Path(sysconfig.get_config_var("DESTSHARED")),
        )
    version = sysconfig.get_python_version()
    if version not in SUITES:
        sys.exit(
            f"install: a package for {machine} has a Python of Debian, {' or '.join(SUITES)}, and "
            f"is made with the same version; this is {version}: make the virtual environment anew"
        )
    root = ROOT / "build" / machine / "python"
    folder = root / "usr/lib" / f"python{version}"
    described = Target(machine, Path(), folder, folder / "lib-dynload", root)
    found = root / "usr/lib" / described.triplet / f"libpython{version}.so.1.0"
    if not found.exists():
        _unpack(root, described.debian, version)
    return described._replace(libpython=found)


def _unpack(root: Path, architecture: str, version: str) -> None:
    """Fill a folder with a Python for an architecture."""
    root.parent.mkdir(parents=True, exist_ok=True)
    command = ["mmdebstrap", "--quiet", "--variant=extract", f"--arch={architecture}"]
    include = f"--include={PACKAGES.format(version=version)}"
    try:
        subprocess.run([*command, include, SUITES[version], root], check=True)
    except FileNotFoundError:
        sys.exit(f"install: the Python for {architecture} needs: apt install mmdebstrap")
