"""The tier of the kernels of this process, and its micro-kernel geometry."""

from nnapi_shim.drivers.cpu.isa import NATIVE_TIERS
from nnapi_shim.drivers.cpu.isa.tier import Tier, Tiling
from nnapi_shim.drivers.cpu.program import library, threads

__all__ = [
    "FEW_THREADS",
    "MAX_TILES",
    "Tiling",
    "enough_tiles",
    "last_ends",
    "round_up",
    "tier",
    "tile_of",
    "tiling",
]

MAX_TILES = 32
"""Tiles of most steps, at most: enough for every number of threads."""
FEW_THREADS = 2
"""Threads for which tiles are chosen by what they read alone."""
OUT_OF_STEP = 0.25
"""The part of a tile that threads wait for the last, on average: they begin one after the other,
and some are slower.
"""
IDLE = 1.1
"""The same with fewer tiles than threads, of which some have none: times the time of a tile."""
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


def tile_of(share: int, units: int) -> int:
    """Units of a tile: `share`, or less where many threads would have no tile otherwise, but at
    least a quarter of it.
    """
    number = threads.count()
    if number <= FEW_THREADS or units >= number * share:
        return share
    return min(share, max(-(-units // number), -(-share // 4)))


def last_ends(tiles: int, number: int, time: float) -> float:
    """When the last of a number of threads ends, if each tile takes so much time."""
    rounds = -(-tiles // number) + OUT_OF_STEP
    return rounds * time * (IDLE if tiles < number else 1.0)


def enough_tiles(number: int) -> int:
    """The tiles that a long step needs, so that a number of threads end at about the same time:
    two for each. More of them may read the same weights or rows again. Results are the same.
    """
    return max(ENOUGH_FOR_FEW, min(2 * number, MAX_TILES))
