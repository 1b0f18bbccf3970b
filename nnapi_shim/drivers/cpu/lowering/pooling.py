"""AVERAGE_POOL_2D, L2_POOL_2D and MAX_POOL_2D as steps."""

from nnapi_shim.drivers.cpu.lowering.bounds import float_bounds, quantized_bounds
from nnapi_shim.drivers.cpu.lowering.elements import TILE
from nnapi_shim.drivers.cpu.lowering.images import from_nhwc, image_in, image_out, to_nhwc
from nnapi_shim.drivers.cpu.lowering.tiling import tile_of
from nnapi_shim.drivers.cpu.program.record import (
    ADDRESS,
    FLOAT32,
    INT64,
    Buffer,
    Record,
    Step,
    record,
)
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.shapes import window

TAPS_PER_ELEMENT = 4
"""Taps that cost as much as an element of an element-wise operation."""

GEOMETRY = {
    "input": ADDRESS,
    "output": ADDRESS,
    "rows": INT64,
    "tile_rows": INT64,
    **{
        f"{name}_{axis}": INT64
        for axis in ("height", "width")
        for name in ("in", "out", "filter", "stride", "pad")
    },
    "depth": INT64,
}
"""Images in NHWC order. rows: of all output images; a tile is tile_rows of them."""

MAX_POOL = record(**GEOMETRY, low=FLOAT32, high=FLOAT32)
MAX_POOL_RAW = record(**GEOMETRY, low=INT64, high=INT64)
AVERAGE_POOL = record(**GEOMETRY, low=FLOAT32, high=FLOAT32, zeros=ADDRESS, sums=ADDRESS)


def lower_max_pool_2d(op: BoundOperation) -> list[Step]:
    """Quantized: compares stored values."""
    low, high = _bounds(op)
    layout = MAX_POOL if op.variant in ("f32", "f16") else MAX_POOL_RAW
    return _pool(op, layout, "max_pool", low=low, high=high)


def lower_average_pool_2d(op: BoundOperation) -> list[Step]:
    """Accumulates one sum per channel in memory; taps outside of the image read a row of zeros."""
    return _average(op, "average_pool")


def lower_l2_pool_2d(op: BoundOperation) -> list[Step]:
    """The root of the mean square; float16 is widened before and narrowed after."""
    return _average(op, "l2_pool")


def _average(op: BoundOperation, name: str) -> list[Step]:
    low, high = _bounds(op)
    depth: int = op.input.dimensions[1 if op.nchw else 3]
    zeros = bytes(4 * depth)
    return _pool(op, AVERAGE_POOL, name, low=low, high=high, zeros=zeros)


def _bounds(op: BoundOperation) -> tuple[float, float]:
    if op.variant in ("f32", "f16"):
        return float_bounds(op.activation)
    return quantized_bounds(op.activation, op.input)


def _pool(op: BoundOperation, layout: Record, name: str, **fields: Any) -> list[Step]:
    kind = op.variant
    if name == "l2_pool":
        kind = "f32"
        before, source = image_in(op.input, op.nchw)
        target, after = image_out(op.output, op.nchw)
    else:
        before, source = to_nhwc(op.input, op.nchw)
        target, after = from_nhwc(op.output, op.nchw)
    geometry = window(op, op.filter_height, op.filter_width)
    rows = geometry.batch * geometry.vertical.output
    row_work = geometry.horizontal.output * geometry.in_depth * op.filter_height * op.filter_width
    tile_rows = max(1, tile_of(TILE * TAPS_PER_ELEMENT, rows * row_work) // row_work)
    tiles = -(-rows // tile_rows)
    if "sums" in layout.fields:
        fields["sums"] = Buffer(8 * geometry.in_depth * tiles)
    step = Step(
        layout,
        f"{name}_{kind}",
        tiles=tiles,
        input=source,
        output=target,
        rows=rows,
        tile_rows=tile_rows,
        in_height=geometry.in_height,
        in_width=geometry.in_width,
        out_height=geometry.vertical.output,
        out_width=geometry.horizontal.output,
        filter_height=op.filter_height,
        filter_width=op.filter_width,
        stride_height=op.stride_height,
        stride_width=op.stride_width,
        pad_height=geometry.vertical.head,
        pad_width=geometry.horizontal.head,
        depth=geometry.in_depth,
        **fields,
    )
    return [*before, step, *after]
