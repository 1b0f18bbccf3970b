"""How a matrix product is shared out: into blocks of row tiles by groups of panels, a tile each.

The rows of a block and one panel fit into the second-level cache together. Blocks make the weights
be read again, groups the rows; as many as the work is worth, in the way that reads least.
"""

from nnapi_shim.drivers.cpu.lowering.tiling import Tiling
from nnapi_shim.hints import Any, NamedTuple

SERIAL = 8 << 10
"""Steps of a micro-kernel up to which a product has one tile: about 2 us."""
STEPS_PER_TILE = 8 << 10
"""Steps that are worth a tile of their own: about 2 us. A step is one vector's multiplication."""
FEW_TILES = 4
"""Tiles of the smallest products that are shared: a region costs less than half a microsecond, and
what is not shared goes from processor to processor.
"""
MOST_TILES = 32
"""Tiles that are enough for every number of threads, where the caches do not ask for more."""
BYTES_PER_STEP = 16
"""What the caches deliver beside a step: weights that are read for one row count by it."""
MOST_STEPS = 1 << 24
"""Steps that a tile has at most, if its rows are more than one tile of a micro-kernel: some
milliseconds. Filters of many taps come to that.
"""

SERIAL_NS = 5000
TILE_NS = 2000


def tiles_of(nanoseconds: int) -> int:
    """Tiles of a step that takes one thread so long, by a rough estimate."""
    return 1 if nanoseconds < SERIAL_NS else min(MOST_TILES, nanoseconds // TILE_NS)


class Work(NamedTuple):
    """A product: row tiles, and what belongs to one of them and to a panel.

    words: of a sum. row_bytes: of the input, for a row tile. finish: what the end of a sum costs,
    in steps.
    """

    row_tiles: int
    tile_rows: int
    panels: int
    columns: int
    words: int
    row_bytes: int
    panel_bytes: int
    finish: int


def split(work: Work, panel_columns: int, tiling: Tiling) -> tuple[int, dict[str, int]]:
    """The number of tiles, and the fields that say what each of them is."""
    panel_vectors = panel_columns // tiling.lanes
    panel_steps = work.tile_rows * panel_vectors * (work.words + work.finish)
    if work.tile_rows == 1:
        panel_steps = max(panel_steps, work.panel_bytes // BYTES_PER_STEP)
    vectors = -(-work.columns // tiling.lanes)
    steps = work.row_tiles * panel_steps * vectors // panel_vectors
    room = (tiling.cache - work.panel_bytes) // max(1, work.row_bytes)
    room = max(1, min(room, MOST_STEPS // panel_steps))
    wanted = 1 if steps < SERIAL else max(FEW_TILES, min(MOST_TILES, steps // STEPS_PER_TILE))
    least = -(-work.row_tiles // room)

    def shares(groups: int) -> tuple[int, int]:
        group_panels = -(-work.panels // groups)
        groups = -(-work.panels // group_panels)
        blocks = min(work.row_tiles, max(least, -(-wanted // groups)))
        return -(-work.row_tiles // blocks), group_panels

    def traffic(groups: int) -> Any:
        block_tiles, group_panels = shares(groups)
        blocks, groups = -(-work.row_tiles // block_tiles), -(-work.panels // group_panels)
        # What is too few to share out comes first, then what is read.
        missing = max(0, min(wanted, 8) - blocks * groups)
        weights, rows = work.panels * work.panel_bytes, work.row_tiles * work.row_bytes
        return missing, blocks * weights + groups * rows

    block_tiles, group_panels = shares(min(range(1, min(work.panels, wanted) + 1), key=traffic))
    groups = -(-work.panels // group_panels)
    return -(-work.row_tiles // block_tiles) * groups, {
        "block_tiles": block_tiles,
        "groups": groups,
        "group_panels": group_panels,
    }
