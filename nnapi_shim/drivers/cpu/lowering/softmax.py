"""SOFTMAX and LOG_SOFTMAX as steps."""

from math import prod

from nnapi_shim.drivers.cpu.lowering.elements import TILE
from nnapi_shim.drivers.cpu.lowering.fixed_point import decomposed, input_radius
from nnapi_shim.drivers.cpu.lowering.images import image_in, image_out
from nnapi_shim.drivers.cpu.lowering.tiling import tile_of
from nnapi_shim.drivers.cpu.program.record import (
    ADDRESS,
    FLOAT32,
    INT64,
    Buffer,
    Space,
    Step,
    record,
)
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperation

SHAPE = {"outer": INT64, "length": INT64, "inner": INT64, "tile_rows": INT64}
SOFTMAX = record(Space.ROWS, input=ADDRESS, output=ADDRESS, **SHAPE, beta=FLOAT32)
SOFTMAX_LANES = record(input=ADDRESS, output=ADDRESS, **SHAPE, beta=FLOAT32, scratch=ADDRESS)
POWERS = record(output=ADDRESS, mantissa=INT64, exponent=INT64, radius=INT64)
"""output: int32[POWERS_COUNT]: entry i is exp of a difference of i - 255 steps from the maximum, in
fixed point without integer bits; 0 for differences above `radius`."""
POWERS_COUNT = 511
"""Entries above 255: if the input changes during the run, values may exceed the maximum; they are
treated as the maximum."""
SOFTMAX_TABLE = record(input=ADDRESS, output=ADDRESS, **SHAPE, table=ADDRESS, scratch=ADDRESS)
SCRATCH = 256 * 4
"""Bytes per tile: the exponentials of a lane of up to 256 elements, or the results by byte."""
LOG_SOFTMAX = record(
    input=ADDRESS, output=ADDRESS, **SHAPE, beta=FLOAT32, flip=INT64, scratch=ADDRESS
)
"""flip: XOR mask of the bits of every element."""

EXPONENTIAL = 4
"""Cost of an element, in elements of an element-wise operation."""

LANES = 256
"""Lanes that are processed together if the axis is not the innermost one."""

LOG_SCRATCH = LANES * 12
"""Bytes of float64 sums and float32 maxima of the lanes."""

SIGN = -(2**31)
"""The sign bit of a float32, as an int32."""


def lower_softmax(op: BoundOperation) -> list[Step]:
    """View the input as [outer, length, inner]; `length` runs along the axis.

    Float: separate kernels for rows (inner = 1) and lanes. Quantized: the exponentials of all
    differences from the maximum are in a table.
    """
    outer, length, inner = _view(op)
    if op.variant in ("qu8", "qs8"):
        fill, table = _powers(op)
        rows = _rows(op, outer * inner, length)
        scratch = Buffer(rows["tiles"] * SCRATCH)
        kernel = f"softmax_{op.variant}"
        return [fill, Step(SOFTMAX_TABLE, kernel, **rows, table=table, scratch=scratch)]
    if inner == 1:
        rows = _rows(op, outer, length)
        return [Step(SOFTMAX, f"softmax_{op.variant}", **rows, beta=op.beta)]
    rows = _rows(op, outer * -(-inner // LANES), length * min(inner, LANES))
    scratch = Buffer(rows["tiles"] * 2 * LANES * 4)
    kernel = f"softmax_lanes_{op.variant}"
    return [Step(SOFTMAX_LANES, kernel, **rows, beta=op.beta, scratch=scratch)]


def lower_log_softmax(op: BoundOperation) -> list[Step]:
    """A negative beta is replaced by its magnitude and negated inputs, which gives the same result,
    because the subtracted maximum cancels out. float16 is widened before and narrowed after.
    """
    outer, length, inner = _view(op)
    kernel, scratch = "log_softmax_f32", None
    if inner == 1:
        fields = _rows(op, outer, length)
    else:
        kernel = "log_softmax_lanes_f32"
        fields = _rows(op, outer * -(-inner // LANES), length * min(inner, LANES))
        scratch = Buffer(fields["tiles"] * LOG_SCRATCH)
    before, fields["input"] = image_in(op.input, False)
    fields["output"], after = image_out(op.output, False)
    fields |= {"beta": abs(op.beta), "flip": SIGN if op.beta < 0 else 0, "scratch": scratch}
    return [*before, Step(LOG_SOFTMAX, kernel, **fields), *after]


def _view(op: BoundOperation) -> tuple[int, int, int]:
    """(outer, length, inner)."""
    dimensions = op.input.dimensions
    axis = op.axis % len(dimensions)
    return prod(dimensions[:axis]), dimensions[axis], prod(dimensions[axis + 1 :])


def _rows(op: BoundOperation, rows: int, row_elements: int) -> dict[str, Any]:
    """The number of tiles for `rows` independent rows, and the common fields of all records."""
    outer, length, inner = _view(op)
    tile_rows = max(1, tile_of(TILE // EXPONENTIAL, rows * row_elements) // row_elements)
    return {
        "tiles": -(-rows // tile_rows),
        "input": op.input,
        "output": op.output,
        "outer": outer,
        "length": length,
        "inner": inner,
        "tile_rows": tile_rows,
    }


def _powers(op: BoundOperation) -> tuple[Step, Buffer]:
    """(step that fills the table of exponentials at compilation, table) (semantics.md 8.4)."""
    table = Buffer(4 * POWERS_COUNT)
    mantissa, exponent = decomposed(min(op.beta * op.input.scale * 2.0**26, 2.0**31 - 1))
    fill = Step(
        POWERS,
        "softmax_powers",
        once=True,
        output=table,
        mantissa=mantissa,
        exponent=exponent,
        radius=input_radius(exponent, 5),
    )
    return fill, table
