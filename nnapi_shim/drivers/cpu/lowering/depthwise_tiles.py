"""The tiles of a depthwise convolution: blocks of output rows, for many threads times slabs.

A slab is a part of the channels. Images of 14 x 14 and 7 x 7 have fewer rows than many threads need
tiles, but hundreds of channels. Rows alone are divided where they are enough: a slab reads a part
of each pixel, which lie apart.
"""

from nnapi_shim.drivers.cpu.lowering.tiling import FEW_THREADS, MAX_TILES, last_ends
from nnapi_shim.drivers.cpu.program import threads
from nnapi_shim.hints import NamedTuple, Sequence

PRODUCTS_PER_TILE = 1 << 16
"""Multiplications of a tile, at least: about 2 us."""
PRODUCTS_FOR_MANY = PRODUCTS_PER_TILE // 4
"""The same where there are fewer tiles than threads."""
ROUNDS = 3
"""Tiles for each of many threads, at most."""
MIN_TILES = 2
"""Tiles of a convolution of several tiles; a tile has a higher start-up cost than in a matrix
product.
"""
SLIDING_ROWS = 8
"""Rows of a tile of the kernel SLIDING, at least, where threads have two tiles each: a tile reads
two rows more.
"""

TILE_PRODUCTS = 1 << 12
"""What a tile costs besides, in multiplications."""
START_ROWS = 0.5
"""What a start of rows that are computed together costs, in rows."""


class DepthwiseWork(NamedTuple):
    """The work of a convolution.

    rows: of the output. products: of a row. units: into which its channels can be divided.
    together: output rows that are computed at once. call: what a call of the micro-kernel for a
    slab costs, in units. slower: the time of a product next to that of other units. is_sliding: for
    the kernel SLIDING.
    """

    rows: int
    products: int
    units: int
    together: int = 1
    call: float = 0.0
    slower: float = 1.0
    is_sliding: bool = False


class Tiles(NamedTuple):
    """rows: of a tile. slabs: into which its channels are divided. units: of a slab."""

    rows: int
    slabs: int
    units: int

    def count(self, rows: int) -> int:
        """Tiles of an output of so many rows."""
        return -(-rows // self.rows) * self.slabs


def divided(work: DepthwiseWork) -> tuple[float, Tiles]:
    """(time of the thread that ends last, in products; the tiles with the least of it)."""
    number = threads.count()
    tile_rows = _tile_rows(work, number)
    whole = Tiles(tile_rows, 1, work.units)
    best = _span(work, whole, number), whole
    if _rows_are_enough(work, tile_rows, number):
        return best
    seen = 0
    for slabs in range(2, min(work.units, ROUNDS * number) + 1):
        units = -(-work.units // slabs)
        if units == seen:
            continue
        seen, slabs = units, -(-work.units // units)
        for rounds in range(1, ROUNDS + 1):
            blocks = max(1, min(work.rows, rounds * number // slabs))
            tiles = Tiles(-(-work.rows // blocks), slabs, units)
            span = _span(work, tiles, number)
            if span < best[0] and _products(work, tiles) >= PRODUCTS_FOR_MANY:
                best = span, tiles
    return best


def fastest(choices: Sequence[DepthwiseWork]) -> tuple[int, Tiles]:
    """(number of the choice whose last thread ends first, its tiles). The choices compute the same
    work, the first of them in the least time on one thread.
    """
    first, number = choices[0], threads.count()
    tile_rows = _tile_rows(first, number)
    if _rows_are_enough(first, tile_rows, number):  # of all choices
        return 0, Tiles(tile_rows, 1, first.units)
    times = [divided(work) for work in choices]
    best = min(range(len(times)), key=lambda at: times[at][0])
    return best, times[best][1]


def _rows_are_enough(work: DepthwiseWork, tile_rows: int, number: int) -> bool:
    """Whether rows alone are divided."""
    is_long = work.rows * work.products >= PRODUCTS_PER_TILE
    return not is_long or number <= min(FEW_THREADS, -(-work.rows // tile_rows))


def _products(work: DepthwiseWork, tiles: Tiles) -> float:
    """What a tile costs."""
    starts = -(-tiles.rows // work.together)
    share = (tiles.units + work.call) / (work.units + work.call) * work.slower
    return (tiles.rows + START_ROWS * starts) * work.products * share


def _span(work: DepthwiseWork, tiles: Tiles, number: int) -> float:
    """What the thread with the most tiles has to do."""
    return last_ends(tiles.count(work.rows), number, _products(work, tiles) + TILE_PRODUCTS)


def _tile_rows(work: DepthwiseWork, number: int) -> int:
    """Output rows of a tile without slabs."""
    rows, products = work.rows, work.rows * work.products
    tiles = products // PRODUCTS_PER_TILE
    if tiles > 0:
        least = min(number, products // PRODUCTS_FOR_MANY)
        tiles = min(rows, MAX_TILES, max(MIN_TILES, tiles, least))
        if work.is_sliding:
            tiles = min(tiles, max(2 * number, rows // SLIDING_ROWS))
    tile_rows = -(-rows // max(1, tiles))
    if -(-rows // tile_rows) < min(tiles, number):
        return rows // tiles  # more tiles, of which each reads rows that others read, too
    return tile_rows
