"""Chains matrix products tile by tile, so that the result of a step is in the cache for the next.

Examples: a depthwise convolution and a 1x1 convolution, or a product and an addition. Both steps
compute pixels, and a pixel of the second reads only that pixel of the first. Both are partitioned
at the same pixels; tile t of the second runs right after tile t of the first, on the same thread.
"""

from math import lcm

from nnapi_shim.drivers.cpu.lowering.broadcasting import is_one_by_one
from nnapi_shim.drivers.cpu.passes.schedule.chains import Chain, Cut, fuse_chains
from nnapi_shim.drivers.cpu.program.record import At, Space, Step
from nnapi_shim.drivers.cpu.program.schedule import Schedule, ScheduledStep
from nnapi_shim.drivers.cpu.program.threads import count
from nnapi_shim.hints import Any, Sequence

MIN_BYTES = 512 << 10
"""Bytes of the result between two chained steps, at least: fewer stay in the cache anyway."""
MAX_WEIGHT_BYTES = 64 << 10
"""Bytes of weights of a chained product, at most: every tile reads all of them."""
TILES = 8, 32
"""The smallest number of tiles of a chain, unless there are more threads, and the largest."""
NO_FIELDS: frozenset[str] = frozenset()


def fuse_tiles(schedule: Schedule) -> None:
    """Chain products and depthwise convolutions with the steps that read their results."""
    fuse_chains(schedule, _chain, "tile by tile")


def _chain(schedule: Schedule, at: int) -> Chain:
    """The longest chain that begins at a step. The size of a cut is its granularity in pixels."""
    steps, last = schedule.steps, at
    first = _cut(steps[at].step)
    if first is None:
        return Chain(())
    cuts = [first]
    while last + 1 < len(steps):
        behind = _cut_behind(steps[last].step, steps[last + 1].step, schedule)
        if behind is None or behind.units != first.units:
            break
        cuts.append(behind)
        last += 1
    return Chain(cuts, first.units, _share(steps[at : last + 1], cuts))


def _share(steps: Sequence[ScheduledStep], cuts: Sequence[Cut]) -> int:
    """Pixels of a tile; 0 for fewer than two steps or too few tiles."""
    if len(cuts) < 2:
        return 0
    pixels, granularity = cuts[0].units, lcm(*[cut.size for cut in cuts])
    least, most = max(TILES[0], count()), TILES[1]
    tiles = min(most, max(least, *[scheduled.step.tiles for scheduled in steps]))
    share = -(-pixels // (tiles * granularity)) * granularity
    return share if -(-pixels // share) >= least else 0


def _cut(step: Step) -> Cut | None:
    """The cut of the first step of a chain."""
    fields, space = step.fields, step.record.space
    if space == Space.LINES:
        width = fields["out_width"]

        def lines(_: int, pixels: int) -> None:
            fields["tile_rows"] = pixels // width
            fields["slabs"], fields["slab"] = 1, fields["channels"]

        return Cut(fields["rows"] * width, width, NO_FIELDS, lines)
    return _product(step) if space == Space.MATRIX else None


def _cut_behind(first: Step, second: Step, schedule: Schedule) -> Cut | None:
    """The cut of a step that can be chained after `first`; None for any other step."""
    source, root = first.fields["output"], schedule.root
    if isinstance(source, At) or max(first.tiles, second.tiles) < 2:
        return None
    written = root(source)
    fields = second.fields
    if second.record.space == Space.MATRIX:
        is_row_by_row = fields["table_step"] == 0
        if not is_row_by_row or isinstance(fields["input"], At) or root(fields["input"]) != written:
            return None
        bytes_between = fields["image_rows"] * fields["tile_bytes"] // max(1, _tile_rows(second))
        return _product(second) if bytes_between >= MIN_BYTES else None
    if first.record.space == Space.MATRIX and second.record.space == Space.PAIRS:
        return _sum(first, second, written, schedule)
    return None


def _tile_rows(step: Step) -> int:
    """Rows of a micro-kernel tile; 0 if the fields do not determine them."""
    fields = step.fields
    if fields["image_tiles"] < 2:
        return 0
    return int(fields["image_rows"] - fields["tail_rows"]) // int(fields["image_tiles"] - 1)


def _product(step: Step) -> Cut | None:
    """The cut of a product of one image with at most MAX_WEIGHT_BYTES of weights."""
    fields = step.fields
    rows, panels = _tile_rows(step), fields["panels"]
    if rows < 2 or fields["row_tiles"] != fields["image_tiles"]:
        return None
    if panels * fields["panel_bytes"] > MAX_WEIGHT_BYTES or fields["image_filter"]:
        return None

    def blocks(_: int, pixels: int) -> None:
        fields["block_tiles"] = pixels // rows
        fields["groups"], fields["group_panels"], fields["prefetched"] = 1, panels, 0

    return Cut(fields["image_rows"], rows, frozenset(("addend",)), blocks)


def _sum(first: Step, second: Step, written: Any, schedule: Schedule) -> Cut | None:
    """The cut of a binary operation without broadcasting that reads the result of a product."""
    fields, columns = second.fields, first.fields["columns"]
    sources = [fields["input0"], fields["input1"]]
    if not is_one_by_one(fields) or any(isinstance(source, At) for source in sources):
        return None
    if written not in map(schedule.root, sources) or fields["length"] % columns:
        return None
    if first.fields["output_stride"] % columns or first.fields["output_stride"] // columns > 4:
        return None
    if first.fields["image_rows"] * first.fields["output_stride"] < MIN_BYTES:
        return None

    def parts(_: int, pixels: int) -> None:
        share = pixels * columns
        fields["part"] = fields["part_step_0"] = fields["part_step_1"] = share

    return Cut(fields["length"] // columns, 1, frozenset(("input0", "input1")), parts)
