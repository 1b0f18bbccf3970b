"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR as steps.

Both layouts are seen as [outer, height, width, inner]: NHWC has its depth inside, NCHW outside.
Which pixels a row and a column of the output come from stands in tables. A pixel of few elements is
taken apart: its row then is one of single elements, in a table of its own.
"""

from array import array
from collections.abc import Sequence
from math import ceil, floor

from nnapi_shim.drivers.cpu.lowering.elements import TILE
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Buffer, Step, record
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hints import Any, NamedTuple
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
"""rows: of all output images together, of which a tile is tile_rows. in_length: elements of a row
of the input. A row of the output is `count` pixels of `pixel` elements."""

NEAREST = record(**GEOMETRY, row=ADDRESS, column=ADDRESS)
"""row: int32[out_height], column: int32[count], pixels of the input."""

BILINEAR = record(
    **GEOMETRY,
    lower_row=ADDRESS, upper_row=ADDRESS, row_share=ADDRESS,
    lower_column=ADDRESS, upper_column=ADDRESS, column_share=ADDRESS,
    scratch=ADDRESS,
)  # fmt: skip
"""lower, upper: int32, share: of the upper one, float32; of as many as in NEAREST. scratch:
float32[tiles, 2, count * pixel], where the input is quantized float32[tiles, 2, in_length]."""

FEW = 8
"""Elements of a pixel up to which it is taken apart."""

TILE_ROWS = 8
"""Rows of a tile, at least: the first one of them has two rows of the input to prepare."""


def lower_resize_nearest_neighbor(op: BoundOperation) -> list[Step]:
    """Copies, in the largest units that pixels consist of."""
    seen = _view(op)
    pixel_bytes = seen.inner * ELEMENT_BYTES[op.input.type]
    unit = next(size for size in (4, 2, 1) if pixel_bytes % size == 0)
    pixel = pixel_bytes // unit
    column = _nearest(op, seen.in_width, seen.out_width)
    apart = pixel <= FEW
    step = Step(
        NEAREST,
        f"resize_nearest_{8 * unit}",
        **_geometry(op, seen, pixel, apart),
        row=_int32s(_nearest(op, seen.in_height, seen.out_height)),
        column=_int32s(_apart(column, pixel) if apart else column),
    )
    return [step]


def lower_resize_bilinear(op: BoundOperation) -> list[Step]:
    """Floats: between columns first, for two rows of the input at a time, then between these."""
    seen = _view(op)
    apart = seen.inner <= FEW
    is_quantized = op.variant in ("qu8", "qs8")
    between = _between_stored if is_quantized else _between_floats
    row = between(op, seen.in_height, seen.out_height)
    column = between(op, seen.in_width, seen.out_width)
    if apart:
        shares = [share for share in column.share for _ in range(seen.inner)]
        column = _Between(
            _apart(column.lower, seen.inner), _apart(column.upper, seen.inner), shares
        )
    geometry = _geometry(op, seen, seen.inner, apart)
    width = seen.in_width if is_quantized else seen.out_width
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
        scratch=Buffer(geometry["tiles"] * 2 * width * seen.inner * 4),
    )
    return [step]


class _View(NamedTuple):
    """[outer, height, width, inner] before and after."""

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


def _geometry(op: BoundOperation, seen: _View, pixel: int, apart: bool) -> dict[str, Any]:
    """Fields of GEOMETRY, and the number of tiles."""
    rows = seen.outer * seen.out_height
    tile_rows = max(TILE_ROWS, TILE // (seen.out_width * pixel))
    return {
        "tiles": -(-rows // tile_rows),
        "input": op.input,
        "output": op.output,
        "rows": rows,
        "tile_rows": tile_rows,
        "in_height": seen.in_height,
        "out_height": seen.out_height,
        "in_length": seen.in_width * pixel,
        "count": seen.out_width * pixel if apart else seen.out_width,
        "pixel": 1 if apart else pixel,
    }


def _apart(column: Sequence[int], pixel: int) -> list[int]:
    """The elements of pixels that lie next to each other."""
    return [start * pixel + i for start in column for i in range(pixel)]


def _int32s(values: Sequence[int]) -> bytes:
    return array("i", values).tobytes()


# Coordinates (semantics.md 7.8 and 7.9), in float32


def _steps(op: BoundOperation, size: int, resized: int) -> tuple[float, Sequence[float]]:
    """0 or 1/2, the centre of a pixel, and (y + centre) * scale for each y of the output."""
    corners = 1 if op.align_corners and resized > 1 else 0
    scale = float32(float32(size - corners) / float32(resized - corners))
    centre = 0.5 if op.half_pixel_centers else 0.0
    places = array("f", range(resized))
    if centre:
        places = array("f", (place + centre for place in places))
    return centre, array("f", (place * scale for place in places))


def _nearest(op: BoundOperation, size: int, resized: int) -> list[int]:
    """Index of the input for each of the output; halves are rounded up, none is below 0."""
    _, steps = _steps(op, size, resized)
    half = 0.5 if op.align_corners else 0.0
    return [min(floor(step + half), size - 1) for step in steps]


class _Between(NamedTuple):
    """The two indexes of the input for each of the output, and the share of the upper one."""

    lower: Sequence[int]
    upper: Sequence[int]
    share: Sequence[float]


def _between_stored(op: BoundOperation, size: int, resized: int) -> _Between:
    centre, steps = _steps(op, size, resized)
    at = array("f", (step - centre for step in steps))
    # Of more than 2^24 pixels the last place is rounded to `size`.
    lower = [min(max(floor(place), 0), size - 1) for place in at]
    upper = [min(ceil(place), size - 1) for place in at]
    return _Between(lower, upper, [place - low for place, low in zip(at, lower, strict=True)])


def _between_floats(op: BoundOperation, size: int, resized: int) -> _Between:
    """Outside of the first and the last pixel both are the same, and so is any mean of them."""
    lower, upper, share = _between_stored(op, size, resized)
    share = [s if low < high else 0.0 for s, low, high in zip(share, lower, upper, strict=True)]
    return _Between(lower, upper, share)
