"""Origins of the files of an installed tree: packages, the machine's Python, the machine."""

import csv
import os
import platform
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

GCC_RUNTIME = "GPL-3.0-or-later WITH GCC-exception-3.1"
RUNTIMES = {"libgcc_s": GCC_RUNTIME, "libstdc++": GCC_RUNTIME, "libz": "Zlib", "libexpat": "MIT"}
"""Library of the system that numpy or Python link -> licence."""
BUNDLED = re.compile(r"^Name: (.+)\nFiles: (.+)\n(?:.*\n)*?License: (.+)$", re.MULTILINE)
"""An entry of a package's list of bundled libraries."""
OPENBLAS = re.compile(rb"OpenBLAS ([\d.]+\d)")


class Origin(NamedTuple):
    """The origin of files as an SBOM component."""

    name: str
    version: str | None
    licence: str
    purl: str


def of_distribution(distribution: metadata.Distribution) -> Origin:
    """A Python package."""
    said = distribution.metadata
    name, version = said["Name"], distribution.version
    licence = said.get("License-Expression") or said.get("License") or ""
    if not licence or "\n" in licence:
        kinds = [k for k in said.get_all("Classifier", []) if k.startswith("License")]
        licence = kinds[0].rpartition(" :: ")[2] if kinds else "see the package"
    return Origin(name, version, licence, f"pkg:pypi/{name.lower().replace('_', '-')}@{version}")


def of_python(version: str | None = None) -> Origin:
    """A version of Python, by default the running one."""
    version = version or platform.python_version()
    return Origin("cpython", version, "PSF-2.0", f"pkg:generic/cpython@{version}")


def of_compiler() -> Origin:
    """The compiler in CC: zig by default for wheels, else the machine's."""
    command = shlex.split(os.environ.get("CC") or "cc")
    if any(word.endswith("zig_cc.py") for word in command):
        return of_distribution(metadata.distribution("ziglang"))
    output = subprocess.check_output([*command, "--version"], text=True).splitlines()[0]
    version = re.search(r"\d+\.\d+[.\d]*", output)
    name = "clang" if "clang" in output else "gcc"
    licence = "Apache-2.0 WITH LLVM-exception" if name == "clang" else "GPL-3.0-or-later"
    number = version[0] if version else None
    return Origin(name, number, licence, f"pkg:generic/{name}" + (f"@{number}" if number else ""))


def library_licence(library: str) -> str:
    """The licence of a library of the system."""
    return RUNTIMES.get(library.partition(".")[0], "see the package")


def of_machine(library: str) -> Origin:
    """The system package of a library that was copied from this machine."""
    licence = library_licence(library)
    output = subprocess.check_output(["cc", f"-print-file-name={library}"], text=True).strip()
    resolved = Path(output).resolve()
    # Packages may list the path from before the merge of /lib into /usr.
    for path in (resolved, Path("/", *resolved.parts[2:])):
        owner = _output("dpkg-query", "--search", str(path))
        if owner:
            package = owner.partition(": ")[0].partition(",")[0]
            version = _output("dpkg-query", "--show", "--showformat=${Version}", package)
            name, system = package.partition(":")[0], platform.freedesktop_os_release()["ID"]
            return Origin(name, version, licence, f"pkg:deb/{system}/{name}@{version}")
    return Origin(resolved.name, None, licence, f"pkg:generic/{resolved.name}")


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


class Tree:
    """Determines the origin of files in a folder of packages, optionally with python/."""

    def __init__(self, private: Path, version: str, of_system: Callable[[str], Origin]):
        """Read the file lists of the packages in the folder.

        version: of its Python. of_system: the origin of a library of the system.
        """
        self._private = private
        self._python = of_python(version)
        self._of_system = of_system
        self._owners: dict[str, Origin] = {}
        self._bundled: list[tuple[str, str, str]] = []
        self._packages: list[Origin] = []
        for distribution in metadata.distributions(path=[str(private)]):
            origin = of_distribution(distribution)
            if origin.name == "nnapi_shim":
                continue
            self._packages.append(origin)
            record = distribution.read_text("RECORD") or ""
            self._owners |= {row[0]: origin for row in csv.reader(record.splitlines()) if row}
            licences = [path for path in self._owners if path.endswith("/LICENSE.txt")]
            for path in licences:
                if (private / path).exists() and self._owners[path] == origin:
                    self._bundled += BUNDLED.findall((private / path).read_text())

    def __call__(self, path: Path) -> Origin:
        """The origin of a file, by its path in the folder."""
        if path.parts[0] == "python":
            is_beside = path.parent.name == "lib" and not path.name.startswith("libpython")
            return self._of_system(path.name) if is_beside else self._python
        for name, files, licence in self._bundled:
            if fnmatch(str(path), files) or fnmatch(str(path), f"{files}.*"):
                return _library(self._private / path, name, licence)
        return self._owners.get(str(path)) or self._of_system(path.name)

    def without_files(self) -> Iterator[Origin]:
        """Components without ELF files: pure Python packages, and statically linked libraries."""
        yield from self._packages
        if any(origin.name == "cffi" for origin in self._packages):
            # Linked into its compiled module; the version is unknown.
            yield Origin("libffi", None, "MIT", "pkg:generic/libffi")


def _library(path: Path, name: str, licence: str) -> Origin:
    """A bundled library of a package; the version is in the file or in its name."""
    if said := OPENBLAS.search(path.read_bytes()):
        version = said[1].decode()
    else:
        soname = re.search(r"\.so\.([\d.]+)$", path.name)
        name, version = re.split(r"[-.]", path.name)[0], soname[1] if soname else None
    purl = f"pkg:generic/{name.lower()}" + (f"@{version}" if version else "")
    return Origin(name, version, licence, purl)
