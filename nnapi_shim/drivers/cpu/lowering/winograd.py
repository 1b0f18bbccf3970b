"""CONV_2D of 3x3 in float32 by Winograd's F(2x2, 3x3): 16 products for 4 outputs in place of 36.

The filter becomes 16 matrices [depth, columns], packed as panels; every 4x4 patch of the input
becomes 16 rows, by which they are multiplied, and the 16 results become 2x2 outputs. Sums are a
ninth as long as direct ones, so that the error is smaller than theirs. An infinity would reach
outputs that do not see it: outputs that are not finite are computed directly.
"""

from struct import pack

from nnapi_shim.drivers.cpu.lowering.bounds import float_bounds
from nnapi_shim.drivers.cpu.lowering.gemm_blocking import SERIAL, STEPS_PER_TILE
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling
from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32, INT64, Buffer, Step, record
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.shapes import Window

WINOGRAD = record(
    input=ADDRESS,
    filter=ADDRESS,
    direct=ADDRESS,
    bias=ADDRESS,
    table=ADDRESS,
    rows=ADDRESS,
    scratch=ADDRESS,
    output=ADDRESS,
    in_height=INT64,
    in_width=INT64,
    out_height=INT64,
    out_width=INT64,
    depth=INT64,
    columns=INT64,
    pad_top=INT64,
    pad_left=INT64,
    patches=INT64,
    block=INT64,
    share=INT64,
    panels=INT64,
    groups=INT64,
    group_panels=INT64,
    scratch_bytes=INT64,
    low=FLOAT32,
    high=FLOAT32,
)
"""A tile is `share` patches by a group of panels; it takes `block` patches at a time. direct: the
filter as it was. table: for 1, 2 ... rows that are left, the offsets of a tile of rows. rows: of
all patches, block by block, where several groups need them; 0 where a tile makes its own.
"""
PACK_WINOGRAD = record(
    filter=ADDRESS, bias=ADDRESS, output=ADDRESS, columns=INT64, depth=INT64, width=INT64
)
"""A tile is a panel."""

POINTS = 16
"""Elements of a patch, and matrices of a filter."""
BLOCK_BYTES = 384 << 10
"""What the 16 rows of the patches of a block may fill of the second-level cache."""
MOST_ROW_BYTES = 4 << 20
"""Size of the rows of all patches up to which groups of panels may share them."""
LEAST_PATCHES = 12
"""Patches below which the filter, 16/9 of its size, is too much to read."""
ENOUGH_TILES = 8
"""Every tile has memory of its own."""


def pays(op: BoundOperation, window: Window, tiling: Tiling) -> bool:
    """Whether an operation is one for which this is made, and large enough."""
    return (
        op.variant == "f32"
        and window.filter_height == window.filter_width == 3
        and op.stride_height == op.stride_width == 1
        and op.dilation_height == op.dilation_width == 1
        and window.in_depth % tiling.lanes == 0
        and op.filter.dimensions[0] % tiling.lanes == 0
        and patches(window) >= LEAST_PATCHES
    )


def patches(window: Window) -> int:
    """How many 2x2 outputs there are."""
    return window.batch * -(-window.vertical.output // 2) * -(-window.horizontal.output // 2)


def winograd(
    op: BoundOperation, window: Window, source: Any, target: Any, columns: int, tiling: Tiling
) -> list[Step]:
    """Pack the filter, and multiply."""
    depth, count = window.in_depth, patches(window)
    panels = -(-columns // tiling.columns)
    filter = Buffer(POINTS * columns * (depth + 1) * 4)
    packing = Step(
        PACK_WINOGRAD,
        "pack_winograd",
        tiles=panels,
        once=True,
        filter=op.filter,
        bias=op.bias,
        output=filter,
        columns=columns,
        depth=depth,
        width=tiling.columns,
    )
    block, share, group_panels = _split(count, depth, columns, panels, tiling)
    shares, groups = -(-count // share), -(-panels // group_panels)
    blocks, patch_bytes = -(-count // block), 4 * POINTS * depth
    low, high = float_bounds(op.activation)
    fields: dict[str, Any] = {
        "input": source,
        "filter": filter,
        "direct": op.filter,
        "bias": op.bias,
        "table": _offsets(tiling.rows, 4 * depth),
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
        "share": share,
        "panels": panels,
        "groups": groups,
        "group_panels": group_panels,
        "low": low,
        "high": high,
    }
    steps = [packing]
    # A patch, a row of outputs that nobody wants, what tells that some are not finite, sums.
    scratch_bytes = patch_bytes + 4 * tiling.columns * (1 + POINTS * block) + 64
    if groups == 1:
        scratch_bytes += block * patch_bytes
    else:
        fields["rows"] = Buffer(blocks * block * patch_bytes)
        scratch = Buffer(blocks * patch_bytes)
        sizes: dict[str, Any] = {"scratch_bytes": patch_bytes, "scratch": scratch, "output": None}
        writes = ("rows", "scratch")
        steps.append(Step(WINOGRAD, "winograd_rows", blocks, writes=writes, **fields, **sizes))
    tiles = shares * groups
    steps.append(
        Step(
            WINOGRAD,
            "winograd_f32",
            tiles,
            writes=("output", "scratch"),
            **fields,
            output=target,
            scratch=Buffer(tiles * scratch_bytes),
            scratch_bytes=scratch_bytes,
        )
    )
    return steps


def _offsets(rows: int, row_bytes: int) -> bytes:
    """For each number of rows up to `rows`: byte offsets, of which the last is repeated."""
    offsets = [min(row, n) * row_bytes for n in range(rows) for row in range(rows)]
    return pack(f"<{len(offsets)}q", *offsets)


def _split(
    count: int, depth: int, columns: int, panels: int, tiling: Tiling
) -> tuple[int, int, int]:
    """Patches of a block and of a tile, and panels of a tile: what reads least.

    Blocks make the filter be read again, groups of panels the rows of the patches.
    """
    step, patch_bytes = tiling.rows, 4 * POINTS * depth
    steps = count * POINTS * (depth + 4) * columns // tiling.lanes
    wanted = 1 if steps < SERIAL else max(1, min(ENOUGH_TILES, steps // STEPS_PER_TILE))

    def shares(groups: int) -> tuple[int, int, int]:
        group_panels = -(-panels // groups)
        parts = min(-(-count // step), -(-wanted // -(-panels // group_panels)))
        if groups > 1:
            block = -(-count // parts)
            return block, block, group_panels
        share = -(-count // parts)
        blocks = -(-share // max(step, BLOCK_BYTES // patch_bytes))
        block = -(-share // blocks)
        return block, block * blocks, group_panels

    def traffic(groups: int) -> tuple[int, int]:
        block, share, group_panels = shares(groups)
        groups = -(-panels // group_panels)
        missing = wanted - -(-count // share) * groups
        rows = (groups + (groups > 1)) * count * patch_bytes
        return max(0, missing), -(-count // block) * columns * patch_bytes + rows

    most = panels if count * patch_bytes <= MOST_ROW_BYTES else 1
    return shares(min(range(1, most + 1), key=traffic))
