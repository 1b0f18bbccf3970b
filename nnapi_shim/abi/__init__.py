"""The C ABI: one Python function per exported C function, and one place for result codes.

`attach` is what the library calls when it starts (native/attach.c).
"""

from importlib import import_module
from typing import Any

from nnapi_shim.abi import cdata
from nnapi_shim.abi.boundary import attach_all

NOUNS = (
    "burst",
    "compilation",
    "device",
    "event",
    "execution",
    "global_",
    "memory",
    "memory_desc",
    "model",
)
"""Files of exported functions, by the noun in their names."""


def attach(ffi: Any, lib: Any) -> None:
    """Make every exported function callable from C; raises if one cannot be."""
    cdata.use(ffi)
    for noun in NOUNS:
        import_module(f"{__name__}.{noun}")
    attach_all(ffi, lib)
