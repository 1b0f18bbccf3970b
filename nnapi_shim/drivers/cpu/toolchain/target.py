"""The tier that the kernels of this process are compiled for.

It is NNAPI_SHIM_BUILD_TIER, which workers.py sets, or else the tier of the kernel library in use.
With NNAPI_SHIM_BUILD_EMULATE, which tests set, kernels have the geometry of the tier and none of
its instructions, so that they run on any processor.
"""

import os

from nnapi_shim.drivers.cpu.isa import TIERS
from nnapi_shim.drivers.cpu.isa.tier import Tier
from nnapi_shim.drivers.cpu.program import library


def target() -> Tier:
    """The tier."""
    return TIERS[os.environ.get("NNAPI_SHIM_BUILD_TIER") or library.current().tier]


def is_emulated() -> bool:
    """Whether its instructions are emulated."""
    return bool(os.environ.get("NNAPI_SHIM_BUILD_EMULATE"))
