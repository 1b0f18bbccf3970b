"""The tier that the kernels of this process are compiled for.

It is NNAPI_SHIM_BUILD_TIER, which build.py sets, or else the tier of the kernel library in use.
With NNAPI_SHIM_BUILD_EMULATE, which tests set, no instruction that only some processors have is
asked for by its name, so that the kernels of every tier run on any processor.
"""

import os

from nnapi_shim.drivers.cpu import library
from nnapi_shim.drivers.cpu.lowering.tiling import TILINGS, Tiling


def target() -> str:
    """Name of the tier."""
    return os.environ.get("NNAPI_SHIM_BUILD_TIER") or library.current().tier


def target_tiling() -> Tiling:
    """Geometry of the tier; without its dot product instructions where they are emulated."""
    tiling = TILINGS[target()]
    if os.environ.get("NNAPI_SHIM_BUILD_EMULATE"):
        tiling = tiling._replace(dot4="", dot2="")
    return tiling
