"""The tier that the kernels of this process are compiled for.

    NNAPI_SHIM_BUILD_TIER     set by build.py; else the tier of the kernel library in use
    NNAPI_SHIM_BUILD_EMULATE  tests: no instruction that only some processors have is asked for by
                              name, so that the kernels of v4 can run on any processor
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
    return tiling._replace(dot4="", dot2="") if os.environ.get("NNAPI_SHIM_BUILD_EMULATE") else tiling
