"""Compiler and linker flags for C programs, from the installed pkg-config file."""

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nnapi_shim import folders
from nnapi_shim.errors import op_failed
from nnapi_shim.tools.report import Report


@dataclass(frozen=True)
class Config(Report):
    """Folders, and flags for the compiler and the linker, quoted for a shell; MEANINGS explains
    the fields.
    """

    cflags: str
    libs: str
    libdir: str
    includedir: str
    cmakedir: str
    pkgconfigdir: str


MEANINGS = {
    "cflags": "Flags for the compiler.",
    "libs": "Flags for the linker.",
    "libdir": "Folder of libneuralnetworks.so.",
    "includedir": "Folder of the headers.",
    "cmakedir": "Folder for NeuralNetworks_DIR.",
    "pkgconfigdir": "Folder for PKG_CONFIG_PATH.",
}
"""Field of Config -> its meaning."""


def config() -> Config:
    """The installed configuration. Raises FileNotFoundError if nothing is built, OP_FAILED if the
    installation is incomplete.
    """
    libdir = _public(Path(folders.get_library_dir()))
    file = libdir / "pkgconfig" / "neuralnetworks.pc"
    variables = {"pcfiledir": str(file.parent)}
    fields: dict[str, str] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        name, separator, value = re.split(r"([=:]|$)", line, maxsplit=1)
        if separator == "=":
            variables[name.strip()] = os.path.normpath(_expanded(value.strip(), variables))
        else:
            fields[name.strip()] = value
    if not {"Cflags", "Libs"} <= fields.keys() or not {"includedir", "libdir"} <= variables.keys():
        raise op_failed(
            f"{file} does not say how to compile; install nnapi_shim again", "tool.config.missing"
        )
    return Config(
        _flags(fields["Cflags"], variables),
        _flags(fields["Libs"], variables),
        variables["libdir"],
        variables["includedir"],
        str(libdir / "cmake" / "NeuralNetworks"),
        str(file.parent),
    )


def _public(libdir: Path) -> Path:
    """The public library folder: below a prefix, the one with the links."""
    above = libdir.parent.parent.parent
    link = above / folders.LIBRARY
    is_public = link.exists() and link.samefile(libdir / folders.LIBRARY)
    return above if is_public and (above / "pkgconfig").is_dir() else libdir


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda match: variables.get(match[1], ""), text)


def _flags(text: str, variables: Mapping[str, str]) -> str:
    """Flags with variables expanded, quoted for a shell."""
    return shlex.join([_expanded(flag, variables) for flag in text.split()])
