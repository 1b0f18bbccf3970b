"""CONV_2D of 3x3 in float32 by Winograd's F(2x2, 3x3): 16 products for 4 outputs in place of 36.

The filter is transformed to 16 matrices [depth, columns], packed as panels; every 4x4 patch of the
input to 16 rows, which are multiplied by them; the 16 results to 2x2 outputs. Sums have 1/9 of the
terms of direct convolution, so the error is smaller. An infinity would spread to outputs whose
windows do not contain it: non-finite outputs are recomputed directly.
"""

from struct import pack

from nnapi_shim.drivers.cpu.lowering.bounds import float_bounds
from nnapi_shim.drivers.cpu.lowering.descriptor import ConvolutionDescriptor
from nnapi_shim.drivers.cpu.lowering.gemm_blocking import (
    SERIAL,
    STEPS_FOR_MANY,
    STEPS_PER_TILE,
    tiles_of,
)
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling, enough_tiles
from nnapi_shim.drivers.cpu.program import threads
from nnapi_shim.drivers.cpu.program.record import (
    ADDRESS,
    FLOAT32,
    INT64,
    Buffer,
    Record,
    Step,
    record,
)
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.operations.shapes import Window

GEOMETRY = {
    "table": ADDRESS,
    "rows": ADDRESS,
    "scratch": ADDRESS,
    "output": ADDRESS,
    "in_height": INT64,
    "in_width": INT64,
    "out_height": INT64,
    "out_width": INT64,
    "depth": INT64,
    "columns": INT64,
    "pad_top": INT64,
    "pad_left": INT64,
    "patches": INT64,
    "block": INT64,
    "block_parts": INT64,
    "part": INT64,
    "share": INT64,
    "panels": INT64,
    "groups": INT64,
    "group_panels": INT64,
    "scratch_bytes": INT64,
}
"""A tile is `share` patches by a group of panels; it processes `block` patches at a time.
table: for 1, 2 ... remaining rows, the offsets of a tile of rows. rows: transformed rows of all
patches, block by block, if several groups share them; otherwise 0. They have tiles of their own:
`block_parts` of a block, of `part` patches each.
"""
WINOGRAD = record(
    input=ADDRESS,
    filter=ADDRESS,
    direct=ADDRESS,
    bias=ADDRESS,
    **GEOMETRY,
    low=FLOAT32,
    high=FLOAT32,
)
"""direct: the original filter."""
PACK_WINOGRAD = record(
    filter=ADDRESS, bias=ADDRESS, output=ADDRESS, columns=INT64, depth=INT64, width=INT64
)
"""A tile is a panel."""

POINTS = 16
"""Elements of a patch of F(2x2, 3x3), and matrices of a filter."""
BLOCK_BYTES = 384 << 10
"""Bytes of the transformed rows of a block of F(2x2, 3x3), at most: a share of the L2 cache."""
MAX_ROW_BYTES = 4 << 20
"""Bytes of the transformed rows of all patches, at most, that groups of panels share."""
MIN_PATCHES = 12
"""Patches, at least: for fewer, reading the transformed filter (16/9 of the size) dominates."""
TRANSFORMED_PER_NS = 8
"""Bytes of transformed rows per nanosecond."""


class Form(NamedTuple):
    """How a convolution is computed.

    input, row: bytes of an element of the input, and of a transformed row. side: of the output
    patches. block_bytes: of the transformed rows of a block, at most. apart: bytes between the rows
    of a point, or its sums, and those of the next.
    """

    input: int
    row: int
    side: int = 2
    block_bytes: int = BLOCK_BYTES
    apart: int = 0

    @property
    def points(self) -> int:
        """Elements of a patch of the input, and matrices of a filter."""
        return (self.side + 2) ** 2


FLOATS = Form(4, 4)


def pays(conv: ConvolutionDescriptor, tiling: Tiling) -> bool:
    """Whether a convolution is a large enough 3x3 float32 convolution for Winograd."""
    return conv.product.variant == "f32" and fits(conv, tiling, tiling.lanes)


def fits(
    conv: ConvolutionDescriptor,
    tiling: Tiling,
    channels: int,
    side: int = 2,
    least: int = MIN_PATCHES,
) -> bool:
    """Whether it is a large enough 3x3 convolution. channels: how many are transformed at once.
    side, least: of the output patches, and how many there are at least.
    """
    window = conv.window
    return (
        conv.is_dense_3x3
        and window.in_depth % channels == 0
        and conv.filter.dimensions[0] % tiling.lanes == 0
        and patches(window, side) >= least
    )


def patches(window: Window, side: int = 2) -> int:
    """The number of output patches, of `side` rows and columns each."""
    down, across = window.vertical.output, window.horizontal.output
    return window.batch * -(-down // side) * -(-across // side)


def winograd(conv: ConvolutionDescriptor, source: Any, target: Any, tiling: Tiling) -> list[Step]:
    """Transform and pack the filter, and multiply."""
    window, columns = conv.window, conv.filter.dimensions[0]
    depth = window.in_depth
    filter = Buffer(POINTS * columns * (depth + 1) * 4)
    packing = Step(
        PACK_WINOGRAD,
        "pack_winograd",
        tiles=-(-columns // tiling.columns),
        once=True,
        filter=conv.filter,
        bias=conv.product.bias,
        output=filter,
        columns=columns,
        depth=depth,
        width=tiling.columns,
    )
    low, high = float_bounds(conv.product.activation)
    fields: dict[str, Any] = {
        "input": source,
        "filter": filter,
        "direct": conv.filter,
        "bias": conv.product.bias,
        "low": low,
        "high": high,
    }
    return [packing, *multiplied(WINOGRAD, "f32", FLOATS, conv, target, fields, tiling)]


def multiplied(
    layout: Record,
    variant: str,
    form: Form,
    conv: ConvolutionDescriptor,
    target: Any,
    fields: dict[str, Any],
    tiling: Tiling,
) -> list[Step]:
    """The step `winograd_<variant>`; before it `winograd_rows_<variant>` if groups share rows.

    fields: values of the record's fields, except for those of GEOMETRY.
    """
    window, columns = conv.window, conv.filter.dimensions[0]
    depth, count, points = window.in_depth, patches(window, form.side), form.points
    panels = -(-columns // tiling.columns)
    row_bytes = form.row * depth
    block, share, group_panels = _split(count, row_bytes, form, columns, panels, tiling)
    shares, groups = -(-count // share), -(-panels // group_panels)
    blocks, patch_bytes = -(-count // block), points * row_bytes
    block_parts = -(-_rows_tiles(count * patch_bytes) // blocks)
    part = -(-block // block_parts)
    fields = {
        **fields,
        "table": _offsets(tiling.rows, row_bytes),
        "rows": None,
        "in_height": window.in_height,
        "in_width": window.in_width,
        "out_height": window.vertical.output,
        "out_width": window.horizontal.output,
        "depth": depth,
        "columns": columns,
        "pad_top": window.vertical.head,
        "pad_left": window.horizontal.head,
        "patches": count,
        "block": block,
        "block_parts": block_parts,
        "part": part,
        "share": share,
        "panels": panels,
        "groups": groups,
        "group_panels": group_panels,
    }
    steps = []
    input_bytes = points * form.input * depth
    # A patch, a row for discarded outputs, the non-finite flags, sums.
    scratch_bytes = (
        input_bytes + 4 * tiling.columns * (1 + points * block) + 64 + points * form.apart
    )
    block_bytes = block * patch_bytes + points * form.apart
    if groups == 1:
        scratch_bytes += block_bytes
    else:
        fields["rows"] = Buffer(blocks * block_bytes)
        row_tiles = blocks * block_parts
        scratch = Buffer(row_tiles * input_bytes)
        sizes: dict[str, Any] = {"scratch_bytes": input_bytes, "scratch": scratch, "output": None}
        name, writes = f"winograd_rows_{variant}", ("rows", "scratch")
        steps.append(Step(layout, name, row_tiles, writes=writes, **fields, **sizes))
    tiles = shares * groups
    steps.append(
        Step(
            layout,
            f"winograd_{variant}",
            tiles,
            writes=("output", "scratch"),
            **fields,
            output=target,
            scratch=Buffer(tiles * scratch_bytes),
            scratch_bytes=scratch_bytes,
        )
    )
    return steps


def _rows_tiles(transformed: int) -> int:
    """Tiles in which so many bytes of rows are transformed."""
    return min(enough_tiles(threads.count()), tiles_of(transformed // TRANSFORMED_PER_NS))


def _offsets(rows: int, row_bytes: int) -> bytes:
    """For each number of rows up to `rows`: byte offsets of `rows` rows; the last is repeated."""
    offsets = [min(row, n) * row_bytes for n in range(rows) for row in range(rows)]
    return pack(f"<{len(offsets)}q", *offsets)


def _split(
    count: int, row_bytes: int, form: Form, columns: int, panels: int, tiling: Tiling
) -> tuple[int, int, int]:
    """(patches of a block, patches of a tile, panels of a tile) with the least memory traffic.

    Every block reads the filter again, every group of panels the rows of the patches.
    """
    step, patch_bytes = tiling.rows, form.points * row_bytes
    steps = count * form.points * (row_bytes // 4 + 4) * columns // tiling.lanes
    target_tiles = 1
    if steps >= SERIAL:
        number = threads.count()
        for_each_thread = min(number, steps // STEPS_FOR_MANY)
        target_tiles = max(1, min(enough_tiles(number), steps // STEPS_PER_TILE), for_each_thread)

    def shares(groups: int) -> tuple[int, int, int]:
        group_panels = -(-panels // groups)
        parts = min(-(-count // step), -(-target_tiles // -(-panels // group_panels)))
        if groups > 1:
            block = -(-count // parts)
            return block, block, group_panels
        share = -(-count // parts)
        blocks = -(-share // max(step, form.block_bytes // patch_bytes))
        block = -(-share // blocks)
        return block, block * blocks, group_panels

    def traffic(groups: int) -> tuple[int, int]:
        block, share, group_panels = shares(groups)
        groups = -(-panels // group_panels)
        missing = target_tiles - -(-count // share) * groups
        rows = (groups + (groups > 1)) * count * patch_bytes
        return max(0, missing), -(-count // block) * columns * patch_bytes + rows

    most = panels if count * patch_bytes <= MAX_ROW_BYTES else 1
    return shares(min(range(1, most + 1), key=traffic))
