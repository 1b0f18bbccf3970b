"""Steps that follow each other tile by tile, while what one writes is in the cache of the next.

A depthwise convolution and the 1x1 convolution behind it, a product and the addition behind it:
both compute rows of pixels, and a pixel needs that pixel alone. Cut at the same pixels, tile t of
the second is run right behind tile t of the first, by the same thread.
"""

from collections.abc import Callable, Sequence
from math import lcm

from nnapi_shim.drivers.cpu.compile.layout import Placed
from nnapi_shim.drivers.cpu.lowering.broadcasting import WALK_FIELDS, is_one_by_one
from nnapi_shim.drivers.cpu.lowering.depthwise import DEPTHWISE
from nnapi_shim.drivers.cpu.lowering.gemm import GEMM
from nnapi_shim.drivers.cpu.program.program import CHAIN
from nnapi_shim.drivers.cpu.program.record import At, Step
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.limits import look

NAME = "fuse_tiles"
WORTH = 512 << 10
"""Bytes between two steps from which on they are chained: less stays in the cache anyway."""
MOST_WEIGHTS = 64 << 10
"""Bytes of weights, which every tile of a chain reads."""
TILES = 8, 32
"""How many tiles a chain has, at least and at most."""

Root = Callable[[Any], Any]


class Cut(NamedTuple):
    """How a step can be cut into tiles.

    pixels: that it computes. whole: boundaries between tiles are multiples of so many. set: lets a
    tile be so many.
    """

    pixels: int
    whole: int
    set: Callable[[int], None]


def fuse_tiles(steps: Sequence[Placed], root: Root) -> list[tuple[Placed, Placed]]:
    """Chain what can be; the pairs that are.

    root: of a field's value, the operand or Buffer behind it.
    """
    if any(placed.jump for placed in steps):
        return []
    found = []
    at = 0
    while at + 1 < len(steps):
        look()
        last = at
        cuts = [_cut(steps[at].step)]
        while last + 1 < len(steps) and cuts[-1] is not None:
            behind = _cut_behind(steps[last].step, steps[last + 1].step, root)
            if behind is None or behind.pixels != cuts[-1].pixels:
                break
            cuts.append(behind)
            last += 1
        given = [cut for cut in cuts if cut is not None]
        if last > at and _divided(steps[at : last + 1], given, root):
            found += [(steps[number], steps[number + 1]) for number in range(at, last)]
            for placed in steps[at:last]:
                placed.join = CHAIN
        at = last + 1
    return found


def _divided(steps: Sequence[Placed], cuts: Sequence[Cut], root: Root) -> bool:
    """Cut all steps of a chain alike, if that makes tiles enough."""
    pixels, whole = cuts[0].pixels, lcm(*[cut.whole for cut in cuts])
    least, most = TILES
    wanted = min(most, max(least, *[placed.step.tiles for placed in steps]))
    share = -(-pixels // (wanted * whole)) * whole
    tiles = -(-pixels // share)
    if tiles < least:
        return False
    read: set[Any] = set()
    for placed, cut in zip(steps, cuts, strict=True):
        step = placed.step
        cut.set(share)
        step.tiles = tiles
        # Other tiles of the steps in front may still read what it would write over.
        if step.in_place and root(step.fields[step.in_place]) in read:
            step.in_place = ""
        read |= {root(step.fields[name]) for _, name in step.record.addresses} - {
            root(step.fields["output"])
        }
    return True


def _cut(step: Step) -> Cut | None:
    """How the first step of a chain can be cut."""
    fields = step.fields
    if step.record is DEPTHWISE:
        width = fields["out_width"]

        def lines(pixels: int) -> None:
            fields["tile_rows"] = pixels // width

        return Cut(fields["rows"] * width, width, lines)
    return _product(step) if step.record is GEMM else None


def _cut_behind(first: Step, second: Step, root: Root) -> Cut | None:
    """How a step that can be chained to another one can be cut; None for one that can not be."""
    source = first.fields["output"]
    if isinstance(source, At) or max(first.tiles, second.tiles) < 2:
        return None
    written = root(source)
    fields = second.fields
    if second.record is GEMM:
        is_row_by_row = fields["table_step"] == 0
        if not is_row_by_row or isinstance(fields["input"], At) or root(fields["input"]) != written:
            return None
        bytes_between = fields["image_rows"] * fields["tile_bytes"] // max(1, _tile_rows(second))
        return _product(second) if bytes_between >= WORTH else None
    if first.record is GEMM and second.record.fields.keys() >= WALK_FIELDS.keys():
        return _sum(first, second, written, root)
    return None


def _tile_rows(step: Step) -> int:
    """Rows of a tile of the micro-kernel; 0 where that cannot be seen."""
    fields = step.fields
    if fields["image_tiles"] < 2:
        return 0
    return int(fields["image_rows"] - fields["tail_rows"]) // int(fields["image_tiles"] - 1)


def _product(step: Step) -> Cut | None:
    """A product of one image, whose weights are few enough to be read by each tile."""
    fields = step.fields
    rows, panels = _tile_rows(step), fields["panels"]
    if rows < 2 or fields["row_tiles"] != fields["image_tiles"]:
        return None
    if panels * fields["panel_bytes"] > MOST_WEIGHTS or fields["image_filter"]:
        return None

    def blocks(pixels: int) -> None:
        fields["block_tiles"] = pixels // rows
        fields["groups"], fields["group_panels"] = 1, panels

    return Cut(fields["image_rows"], rows, blocks)


def _sum(first: Step, second: Step, written: Any, root: Root) -> Cut | None:
    """An operation on two tensors of the same dimensions, one of which a product writes."""
    fields, columns = second.fields, first.fields["columns"]
    sources = [fields["input0"], fields["input1"]]
    if not is_one_by_one(fields) or any(isinstance(source, At) for source in sources):
        return None
    if written not in map(root, sources) or fields["length"] % columns:
        return None
    if first.fields["output_stride"] % columns or first.fields["output_stride"] // columns > 4:
        return None
    if first.fields["image_rows"] * first.fields["output_stride"] < WORTH:
        return None

    def parts(pixels: int) -> None:
        share = pixels * columns
        fields["part"] = fields["part_step_0"] = fields["part_step_1"] = share

    return Cut(fields["length"] // columns, 1, parts)
