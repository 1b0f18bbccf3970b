"""`nnapi-shim config`."""

from typing import Annotated

import typer

from nnapi_shim.cli.output import AsJson, write, write_json


def _flag(name: str, help: str) -> object:
    return typer.Option(name, help=help)


def config(
    cflags: Annotated[bool, _flag("--cflags", "Flags for the compiler.")] = False,
    libs: Annotated[bool, _flag("--libs", "Flags for the linker.")] = False,
    libdir: Annotated[bool, _flag("--libdir", "Folder of libneuralnetworks.so.")] = False,
    includedir: Annotated[bool, _flag("--includedir", "Folder of the headers.")] = False,
    cmakedir: Annotated[bool, _flag("--cmakedir", "Folder for NeuralNetworks_DIR.")] = False,
    pkgconfigdir: Annotated[bool, _flag("--pkgconfigdir", "Folder for PKG_CONFIG_PATH.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print compiler and linker flags for C programs; several values are printed in one line.

    Example: gcc program.c $(nnapi-shim config --cflags --libs) -o program
    """
    from nnapi_shim.tools.config import config as find

    report = find()
    if as_json:
        write_json(report)
        return
    asked = {
        "cflags": cflags,
        "libs": libs,
        "libdir": libdir,
        "includedir": includedir,
        "cmakedir": cmakedir,
        "pkgconfigdir": pkgconfigdir,
    }
    values = report.to_json()
    if any(asked.values()):
        write(" ".join(values[name] for name, is_asked in asked.items() if is_asked))
    else:
        for name, value in values.items():
            write(f"{name:12} {value}")
