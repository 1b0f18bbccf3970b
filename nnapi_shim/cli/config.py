"""`nnapi-shim config`."""

from typing import Annotated

import typer

from nnapi_shim.cli.arguments import Force
from nnapi_shim.cli.output import AsJson, write, write_json
from nnapi_shim.tools.config import MEANINGS


def _flag(name: str) -> object:
    return typer.Option(f"--{name}", help=MEANINGS[name])


def config(
    cflags: Annotated[bool, _flag("cflags")] = False,
    libs: Annotated[bool, _flag("libs")] = False,
    libdir: Annotated[bool, _flag("libdir")] = False,
    includedir: Annotated[bool, _flag("includedir")] = False,
    cmakedir: Annotated[bool, _flag("cmakedir")] = False,
    pkgconfigdir: Annotated[bool, _flag("pkgconfigdir")] = False,
    as_json: AsJson = None,
    force: Force = False,
) -> None:
    """Print compiler and linker flags for C programs; several values are printed in one line.

    Example: gcc program.c $(nnapi-shim config --cflags --libs) -o program
    """
    from nnapi_shim.cli.plain import config_text
    from nnapi_shim.tools.config import config as find

    if as_json:
        write_json(find(), as_json, force)
        return
    chosen = {
        "cflags": cflags,
        "libs": libs,
        "libdir": libdir,
        "includedir": includedir,
        "cmakedir": cmakedir,
        "pkgconfigdir": pkgconfigdir,
    }
    write(config_text([name for name, is_chosen in chosen.items() if is_chosen]))
