"""The tier of the kernels of this process, and its micro-kernel geometry."""

from nnapi_shim.drivers.cpu.isa import NATIVE_TIERS
from nnapi_shim.drivers.cpu.isa.tier import Tier, Tiling
from nnapi_shim.drivers.cpu.program import library, threads

__all__ = ["MAX_TILES", "Tiling", "enough_tiles", "round_up", "tier", "tiling"]

MAX_TILES = 32
"""Tiles of most steps, at most: enough for every number of threads."""
ENOUGH_FOR_FEW = 8
"""Tiles that are enough for four threads."""


def tier() -> Tier:
    """The tier of the loaded kernels."""
    return NATIVE_TIERS[library.current().tier]


def tiling(is_quantized: bool = False) -> Tiling:
    """The geometry of the tier's micro-kernels for products of floats, or for quantized ones."""
    return tier().tiling_of(is_quantized)


def round_up(value: int, step: int) -> int:
    """The next multiple of `step`."""
    return -(-value // step) * step


def enough_tiles() -> int:
    """The tiles that a long step needs, so that the threads of a run end at about the same time:
    two for each. More of them may read the same weights or rows again. Results are the same.
    """
    return max(ENOUGH_FOR_FEW, min(2 * threads.count(), MAX_TILES))
