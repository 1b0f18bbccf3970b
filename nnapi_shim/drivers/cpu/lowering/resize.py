"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR as steps.

Both layouts are viewed as [outer, height, width, inner]: the depth is inner for NHWC, outer for
NCHW. Tables hold the source pixels of each output row and column. Rows with few elements per pixel
are processed element by element, with a table per element.
"""

from array import array
from math import ceil, floor

from nnapi_shim.drivers.cpu.lowering.elements import TILE
from nnapi_shim.drivers.cpu.lowering.tiling import tile_of
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Buffer, Step, record
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hints import Any, NamedTuple, Sequence
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.rules import float32
from nnapi_shim.operations.shapes import nhwc

GEOMETRY = {
    "input": ADDRESS,
    "output": ADDRESS,
    "rows": INT64,
    "tile_rows": INT64,
    "in_height": INT64,
    "out_height": INT64,
    "in_length": INT64,
    "count": INT64,
    "pixel": INT64,
}
"""rows: of all output images; a tile is tile_rows of them. in_length: elements of an input row. An
output row is `count` pixels of `pixel` elements."""

NEAREST = record(**GEOMETRY, row=ADDRESS, column=ADDRESS)
"""row: int32[out_height], column: int32[count], pixels of the input."""

BILINEAR = record(
    **GEOMETRY,
    lower_row=ADDRESS, upper_row=ADDRESS, row_share=ADDRESS,
    lower_column=ADDRESS, upper_column=ADDRESS, column_share=ADDRESS,
    scratch=ADDRESS,
)  # fmt: skip
"""lower, upper: int32 source indexes, share: float32 weight of the upper one; sizes as in NEAREST.
scratch: float32[tiles, 2, count * pixel], for quantized inputs float32[tiles, 2, in_length]."""

MAX_PIXEL_ELEMENTS = 8
"""Elements per pixel, at most, in rows that are processed element by element."""

TILE_ROWS = 8
"""Rows of a tile, at least: the first row of a tile has the extra cost of two input rows."""


def lower_resize_nearest_neighbor(op: BoundOperation) -> list[Step]:
    """Copies pixels in units of 4, 2 or 1 bytes."""
    view = _view(op)
    pixel_bytes = view.inner * ELEMENT_BYTES[op.input.type]
    unit = next(size for size in (4, 2, 1) if pixel_bytes % size == 0)
    pixel = pixel_bytes // unit
    column = _nearest(op, view.in_width, view.out_width)
    by_element = pixel <= MAX_PIXEL_ELEMENTS
    step = Step(
        NEAREST,
        f"resize_nearest_{8 * unit}",
        **_geometry(op, view, pixel, by_element),
        row=_int32s(_nearest(op, view.in_height, view.out_height)),
        column=_int32s(_element_indexes(column, pixel) if by_element else column),
    )
    return [step]


def lower_resize_bilinear(op: BoundOperation) -> list[Step]:
    """Float: interpolates columns of two input rows, then between the two rows."""
    view = _view(op)
    by_element = view.inner <= MAX_PIXEL_ELEMENTS
    is_quantized = op.variant in ("qu8", "qs8")
    interpolation_of = _interpolation_quantized if is_quantized else _interpolation_float
    row = interpolation_of(op, view.in_height, view.out_height)
    column = interpolation_of(op, view.in_width, view.out_width)
    if by_element:
        shares = [share for share in column.share for _ in range(view.inner)]
        column = _Interpolation(
            _element_indexes(column.lower, view.inner),
            _element_indexes(column.upper, view.inner),
            shares,
        )
    geometry = _geometry(op, view, view.inner, by_element)
    width = view.in_width if is_quantized else view.out_width
    step = Step(
        BILINEAR,
        f"resize_bilinear_{op.variant}",
        **geometry,
        lower_row=_int32s(row.lower),
        upper_row=_int32s(row.upper),
        row_share=array("f", row.share).tobytes(),
        lower_column=_int32s(column.lower),
        upper_column=_int32s(column.upper),
        column_share=array("f", column.share).tobytes(),
        scratch=Buffer(geometry["tiles"] * 2 * width * view.inner * 4),
    )
    return [step]


class _View(NamedTuple):
    """[outer, height, width, inner] of input and output."""

    outer: int
    in_height: int
    in_width: int
    out_height: int
    out_width: int
    inner: int


def _view(op: BoundOperation) -> _View:
    batch, in_height, in_width, depth = nhwc(op.input.dimensions, op.nchw)
    _, out_height, out_width, _ = nhwc(op.output.dimensions, op.nchw)
    outer, inner = (batch * depth, 1) if op.nchw else (batch, depth)
    return _View(outer, in_height, in_width, out_height, out_width, inner)


def _geometry(op: BoundOperation, view: _View, pixel: int, by_element: bool) -> dict[str, Any]:
    """The number of tiles, and values for GEOMETRY."""
    rows = view.outer * view.out_height
    row = view.out_width * pixel
    tile_rows = max(tile_of(TILE_ROWS, rows), tile_of(TILE, rows * row) // row)
    return {
        "tiles": -(-rows // tile_rows),
        "input": op.input,
        "output": op.output,
        "rows": rows,
        "tile_rows": tile_rows,
        "in_height": view.in_height,
        "out_height": view.out_height,
        "in_length": view.in_width * pixel,
        "count": view.out_width * pixel if by_element else view.out_width,
        "pixel": 1 if by_element else pixel,
    }


def _element_indexes(column: Sequence[int], pixel: int) -> list[int]:
    """Pixel indexes -> element indexes."""
    return [start * pixel + i for start in column for i in range(pixel)]


def _int32s(values: Sequence[int]) -> bytes:
    return array("i", values).tobytes()


# Coordinates (semantics.md 7.8 and 7.9), in float32


def _steps(op: BoundOperation, size: int, resized: int) -> tuple[float, Sequence[float]]:
    """(centre of a pixel: 0 or 1/2, (y + centre) * scale for each output index y)."""
    corners = 1 if op.align_corners and resized > 1 else 0
    scale = float32(float32(size - corners) / float32(resized - corners))
    centre = 0.5 if op.half_pixel_centers else 0.0
    coordinates = array("f", range(resized))
    if centre:
        coordinates = array("f", (coordinate + centre for coordinate in coordinates))
    return centre, array("f", (coordinate * scale for coordinate in coordinates))


def _nearest(op: BoundOperation, size: int, resized: int) -> list[int]:
    """The nearest input index for each output index; halves are rounded up."""
    _, steps = _steps(op, size, resized)
    half = 0.5 if op.align_corners else 0.0
    return [min(floor(step + half), size - 1) for step in steps]


class _Interpolation(NamedTuple):
    """Per output index: two input indexes, and the weight of the upper one."""

    lower: Sequence[int]
    upper: Sequence[int]
    share: Sequence[float]


def _interpolation_quantized(op: BoundOperation, size: int, resized: int) -> _Interpolation:
    centre, steps = _steps(op, size, resized)
    coordinates = array("f", (step - centre for step in steps))
    # With more than 2^24 pixels, the last coordinate is rounded to `size`.
    lower = [min(max(floor(coordinate), 0), size - 1) for coordinate in coordinates]
    upper = [min(ceil(coordinate), size - 1) for coordinate in coordinates]
    return _Interpolation(
        lower, upper, [coordinate - low for coordinate, low in zip(coordinates, lower, strict=True)]
    )


def _interpolation_float(op: BoundOperation, size: int, resized: int) -> _Interpolation:
    """As quantized, with weight 0 where both input indexes are equal."""
    lower, upper, share = _interpolation_quantized(op, size, resized)
    share = [s if low < high else 0.0 for s, low, high in zip(share, lower, upper, strict=True)]
    return _Interpolation(lower, upper, share)
