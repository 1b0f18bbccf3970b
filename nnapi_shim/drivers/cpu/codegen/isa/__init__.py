"""The instructions that emitters write: `ISA` is the object of the tier that is compiled for.

Emitters ask it for capabilities. They never ask for a tier's name, take a number of lanes for an
instruction set, or write the name of an intrinsic that only some processors have.
"""

from nnapi_shim.drivers.cpu.codegen.isa import aarch64, x86
from nnapi_shim.drivers.cpu.codegen.isa.portable import Portable
from nnapi_shim.drivers.cpu.isa.tier import Tier
from nnapi_shim.drivers.cpu.toolchain.target import is_emulated, target

INSTRUCTIONS: dict[str, type[Portable]] = {**x86.INSTRUCTIONS, **aarch64.INSTRUCTIONS}
"""Tier -> its instructions; other tiers have those of LLVM."""


def instructions(tier: Tier, emulated: bool = False) -> Portable:
    """The instructions of a tier; emulated: with its geometry alone, so that it runs anywhere."""
    return (Portable if emulated else INSTRUCTIONS.get(tier.name, Portable))(tier)


ISA = instructions(target(), is_emulated())
TILING = ISA.tier.tiling
BYTE_TILING = ISA.tier.tiling_of(is_quantized=True)
