"""The tier of the kernels of this process, and its micro-kernel geometry."""

from nnapi_shim.drivers.cpu.isa import NATIVE_TIERS
from nnapi_shim.drivers.cpu.isa.tier import Tier, Tiling
from nnapi_shim.drivers.cpu.program import library

__all__ = ["Tiling", "round_up", "tier", "tiling"]


def tier() -> Tier:
    """The tier of the loaded kernels."""
    return NATIVE_TIERS[library.current().tier]


def tiling(is_quantized: bool = False) -> Tiling:
    """The geometry of the tier's micro-kernels for products of floats, or for quantized ones."""
    return tier().tiling_of(is_quantized)


def round_up(value: int, step: int) -> int:
    """The next multiple of `step`."""
    return -(-value // step) * step
