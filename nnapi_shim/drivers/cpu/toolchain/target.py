"""The tier and the architecture that the kernels of this process are compiled for.

They are NNAPI_SHIM_BUILD_TIER and NNAPI_SHIM_BUILD_MACHINE, which workers.py sets, or else the tier
of the kernel library in use, and this machine's architecture.
With NNAPI_SHIM_BUILD_EMULATE, which tests set, kernels have the geometry of the tier and none of
its instructions, so that they run on any processor.
"""

import os

from nnapi_shim.drivers.cpu.isa import architecture_of, platform_machine
from nnapi_shim.drivers.cpu.isa.every import TIERS
from nnapi_shim.drivers.cpu.isa.tier import Architecture, Tier
from nnapi_shim.drivers.cpu.program import library


def target() -> Tier:
    """The tier."""
    return TIERS[os.environ.get("NNAPI_SHIM_BUILD_TIER") or library.current().tier]


def is_emulated() -> bool:
    """Whether its instructions are emulated."""
    return bool(os.environ.get("NNAPI_SHIM_BUILD_EMULATE"))


def architecture() -> Architecture:
    """The architecture."""
    return architecture_of(os.environ.get("NNAPI_SHIM_BUILD_MACHINE") or platform_machine())


def triple(machine: str) -> str:
    """LLVM's name of Linux on an architecture."""
    return f"{machine}-unknown-linux-gnu"
