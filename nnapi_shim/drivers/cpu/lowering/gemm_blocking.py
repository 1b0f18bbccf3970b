"""Blocking of a matrix product: a tile is a block of row tiles times a group of panels.

The rows of a block and one panel fit into the L2 cache together. Every block reads the weights
again, every group the rows; the blocking with enough tiles and the least memory traffic is used,
or, on one thread where the weights do not fit that cache, one with the fewest blocks. Of short
products there are up to twice as many blocks, so that the threads end together.
"""

from nnapi_shim.drivers.cpu.lowering.tiling import FEW_THREADS, MAX_TILES, Tiling, last_ends
from nnapi_shim.drivers.cpu.program.threads import count
from nnapi_shim.hints import Any, NamedTuple

SERIAL = 8 << 10
"""Micro-kernel steps below which a product has one tile: about 2 us."""
STEPS_PER_TILE = 8 << 10
"""Micro-kernel steps of a tile, at least: about 2 us. A step is one vector multiplication."""
STEPS_FOR_MANY = STEPS_PER_TILE // 4
"""The same where there are fewer tiles than threads."""
ROUNDS = 4
"""Tiles for each of many threads, at most."""
MIN_TILES = 4
"""Tiles of the smallest parallel products. A parallel region costs less than 0.5 us; a serial step
moves its operands between the caches of processors.
"""
BYTES_PER_STEP = 16
"""Bytes that the caches deliver per step: the cost of the weights of a matrix-vector product."""
TILE_STEPS = 400
"""Micro-kernel steps that a tile costs besides: about 0.1 us."""
MAX_TILE_STEPS = 1 << 24
"""Steps of a tile of several row tiles, at most: some milliseconds, for filters of many taps."""

PREFETCHED_BYTES, PREFETCHED_TILES = 8 << 10, 64
"""Where the next panel is prefetched: the bytes of a panel at least, and the row tiles of a block
at most. The time to read a panel counts little where it is small or serves many tiles.
"""

SERIAL_NS = 5000
TILE_NS = 2000
SERIAL_NS_FOR_MANY, TILE_NS_FOR_MANY = SERIAL_NS // 2, TILE_NS // 4
"""The same for many threads, where there are fewer tiles than threads."""


def tiles_of(nanoseconds: int) -> int:
    """The number of tiles of a step with this estimated time on one thread."""
    number = count()
    serial, tiles = SERIAL_NS, nanoseconds // TILE_NS
    if number > FEW_THREADS:
        serial = SERIAL_NS_FOR_MANY
        tiles = max(tiles, min(number, nanoseconds // TILE_NS_FOR_MANY))
    return 1 if nanoseconds < serial else max(1, min(MAX_TILES, tiles))


class Work(NamedTuple):
    """The size of a product.

    words: of a sum. row_bytes: input bytes of a row tile. finish: cost of the epilogue of a sum, in
    steps.
    """

    row_tiles: int
    tile_rows: int
    panels: int
    columns: int
    words: int
    row_bytes: int
    panel_bytes: int
    finish: int


Split = tuple[int, dict[str, int]]

_splits: dict[Any, Split] = {}
"""Those of the last products, at most MOST."""
MOST = 256


def split(work: Work, panel_columns: int, tiling: Tiling, enough: int, threads: int = 1) -> Split:
    """The number of tiles, and the blocking fields: not to be changed, equal layers share them.

    enough: tiles for which memory is read more often, if need be.
    """
    key = work, panel_columns, tiling, enough, threads
    result = _splits.get(key)
    if result is None:
        if len(_splits) >= MOST:
            _splits.clear()
        result = _splits[key] = searched(*key)
    return result


def searched(work: Work, panel_columns: int, tiling: Tiling, enough: int, threads: int) -> Split:
    """As split, computed anew."""
    panel_vectors = panel_columns // tiling.lanes
    panel_steps = work.tile_rows * panel_vectors * (work.words + work.finish)
    if work.tile_rows == 1:
        panel_steps = max(panel_steps, work.panel_bytes // BYTES_PER_STEP)
    vectors = -(-work.columns // tiling.lanes)
    steps = work.row_tiles * panel_steps * vectors // panel_vectors
    left = tiling.cache - work.panel_bytes
    if left < tiling.cache // 2 and work.row_tiles * work.row_bytes <= 2 * tiling.cache:
        # These rows again, for each panel, are less than all weights for each few of them.
        left = 2 * tiling.cache
    room = max(1, min(left // max(1, work.row_bytes), MAX_TILE_STEPS // panel_steps))
    target_tiles = 1
    if steps >= SERIAL:
        for_each_thread = min(threads, steps // STEPS_FOR_MANY)
        target_tiles = min(MAX_TILES, max(MIN_TILES, steps // STEPS_PER_TILE, for_each_thread))
    least = -(-work.row_tiles // room)
    if threads > FEW_THREADS and target_tiles > 1:
        most = max(MIN_TILES, steps // STEPS_FOR_MANY)
        return _fields(work, threads, *_for_many(work, panel_steps, least, most, threads))
    row_tiles, panels = work.row_tiles, work.panels
    weights, rows = panels * work.panel_bytes, row_tiles * work.row_bytes
    needed = min(target_tiles, enough)
    from_memory = threads == 1 and weights > tiling.cache
    wanted = needed if from_memory else target_tiles
    best, shares = (needed + 1, 0, 0), (0, 0)
    seen = 0
    for groups in range(1, min(panels, target_tiles) + 1):
        group_panels = -(-panels // groups)
        if group_panels == seen:
            continue
        seen, groups = group_panels, -(-panels // group_panels)
        blocks = min(row_tiles, max(least, -(-wanted // groups)))
        if threads > 1 and target_tiles > 1:
            most = min(row_tiles, 2 * blocks, max(blocks, MAX_TILES // groups))
            if most > blocks:
                choices, block_steps = range(blocks, most + 1), group_panels * panel_steps
                blocks = _end_together(row_tiles, choices, groups, block_steps, threads)
        block_tiles = -(-row_tiles // blocks)
        blocks = -(-row_tiles // block_tiles)
        # Minimise missing tiles first, then memory traffic.
        missing, traffic = max(0, needed - blocks * groups), blocks * weights + groups * rows
        cost = missing, blocks * from_memory, traffic
        if cost < best:
            best, shares = cost, (block_tiles, group_panels)
    return _fields(work, threads, *shares)


def _end_together(
    row_tiles: int, choices: range, groups: int, block_steps: int, threads: int
) -> int:
    """The number of blocks with which the thread that has the most tiles has the fewest steps.

    block_steps: of a block of one row tile.
    """
    best, fewest = 0, float("inf")
    for blocks in choices:
        block_tiles = -(-row_tiles // blocks)
        tiles = -(-row_tiles // block_tiles) * groups
        steps = -(-tiles // threads) * (block_tiles * block_steps + TILE_STEPS)
        if steps < fewest:
            best, fewest = blocks, steps
    return best


def _for_many(work: Work, panel_steps: int, least: int, most: int, threads: int) -> tuple[int, int]:
    """(row tiles of a block, panels of a group) with which the last of many threads ends first.

    least: blocks. most: tiles, unless there are more blocks. Reading takes time as well: each
    thread reads its share of the weights and rows.
    """
    weights, rows = work.panels * work.panel_bytes, work.row_tiles * work.row_bytes
    best, shares = float("inf"), (-(-work.row_tiles // least), work.panels)
    seen = 0
    for groups in range(1, min(work.panels, ROUNDS * threads, most) + 1):
        group_panels = -(-work.panels // groups)
        if group_panels == seen:
            continue
        seen, groups = group_panels, -(-work.panels // group_panels)
        for rounds in range(1, ROUNDS + 1):
            blocks = min(work.row_tiles, max(1, least, min(rounds * threads, most) // groups))
            block_tiles = -(-work.row_tiles // blocks)
            blocks = -(-work.row_tiles // block_tiles)
            steps = block_tiles * group_panels * panel_steps
            traffic = blocks * weights + groups * rows
            time = last_ends(blocks * groups, threads, steps + TILE_STEPS)
            time += traffic / (BYTES_PER_STEP * threads)
            if time < best:
                best, shares = time, (block_tiles, group_panels)
    return shares


def _fields(work: Work, threads: int, block_tiles: int, group_panels: int) -> Split:
    """The number of tiles, and the fields."""
    groups = -(-work.panels // group_panels)
    prefetched = 0
    if 1 < block_tiles <= PREFETCHED_TILES and work.panel_bytes >= PREFETCHED_BYTES:
        # Another thread may take the next group.
        prefetched = group_panels if threads == 1 else group_panels - 1
    return -(-work.row_tiles // block_tiles) * groups, {
        "block_tiles": block_tiles,
        "groups": groups,
        "group_panels": group_panels,
        "prefetched": prefetched,
    }
