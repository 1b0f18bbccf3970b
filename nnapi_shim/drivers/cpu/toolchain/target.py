"""The tier that the kernels of this process are compiled for.

It is NNAPI_SHIM_BUILD_TIER, which build.py sets, or else the tier of the kernel library in use.
With NNAPI_SHIM_BUILD_EMULATE, which tests set, no instruction that only some processors have is
asked for by its name, so that the kernels of every tier run on any processor.
"""

import os

from nnapi_shim.drivers.cpu.lowering.tiling import TILINGS, Tiling
from nnapi_shim.drivers.cpu.program import library


def target() -> str:
    """Name of the tier."""
    return os.environ.get("NNAPI_SHIM_BUILD_TIER") or library.current().tier


_SHUFFLES = {
    "v2": ("llvm.x86.ssse3.pshuf.b.128", 16),
    "v3": ("llvm.x86.avx2.pshuf.b", 32),
    "v4": ("llvm.x86.avx2.pshuf.b", 32),
}
"""Of bytes, each among the 16 of its own part of a vector."""


def target_shuffle() -> tuple[str, int]:
    """Name and number of bytes of the instruction that shuffles bytes; ("", 1) if emulated."""
    return ("", 1) if os.environ.get("NNAPI_SHIM_BUILD_EMULATE") else _SHUFFLES[target()]


def target_tiling() -> Tiling:
    """Geometry of the tier; without its dot product instructions where they are emulated."""
    tiling = TILINGS[target()]
    if os.environ.get("NNAPI_SHIM_BUILD_EMULATE"):
        tiling = tiling._replace(dot4="", dot2="", named=False)
    return tiling
