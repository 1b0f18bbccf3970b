"""Packages of this environment, copied into another folder at their pinned versions."""

import re
import shutil
from importlib import metadata
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement


def copy_installed(requirements: Path, folder: Path) -> bool:
    """Copy the packages of a file of requirements; False, and nothing is copied, if one of them is
    missing here or has another version.
    """
    packages = []
    for requirement in pinned(requirements):
        try:
            package = metadata.distribution(requirement.name)
        except metadata.PackageNotFoundError:
            return False
        if not requirement.specifier.contains(package.version, prereleases=True):
            return False
        if package.files is None or package.read_text("direct_url.json"):  # not from an index
            return False
        packages.append(package)
    for package in packages:
        copy(package, folder)
    return True


def copy(package: metadata.Distribution, folder: Path) -> None:
    """Copy the files of a package and leave the others out of its list, RECORD."""
    for file in filter(is_content, package.files or ()):
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(Path(str(package.locate_file(file))), target)
        if file.name == "RECORD":
            lines = target.read_bytes().splitlines(keepends=True)
            target.write_bytes(b"".join(filter(_is_of_content, lines)))


def pinned(requirements: Path) -> list[Requirement]:
    """The requirements of a file that apply to this Python."""
    text = re.sub(r"\\\n|^ *#.*$", " ", requirements.read_text(), flags=re.MULTILINE)
    lines = (re.sub(r" --hash=\S+", "", line).strip() for line in text.splitlines())
    parsed = [Requirement(line) for line in lines if line]
    return [each for each in parsed if each.marker is None or each.marker.evaluate()]


def is_content(file: PurePosixPath) -> bool:
    """Whether a file is the package's own: no script, and no bytecode of the installation."""
    return ".." not in file.parts and "__pycache__" not in file.parts


def _is_of_content(line: bytes) -> bool:
    return is_content(PurePosixPath(line.decode().partition(",")[0]))
