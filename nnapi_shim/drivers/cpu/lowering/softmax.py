"""SOFTMAX as steps."""

from math import exp, prod
from struct import pack
from typing import Any

from nnapi_shim.drivers.cpu.lowering.elements import TILE
from nnapi_shim.drivers.cpu.record import ADDRESS, FLOAT32, INT64, Buffer, Step, record
from nnapi_shim.operations.declare import BoundOperation

SHAPE = {"outer": INT64, "length": INT64, "inner": INT64, "tile_rows": INT64}
SOFTMAX = record(input=ADDRESS, output=ADDRESS, **SHAPE, beta=FLOAT32)
SOFTMAX_LANES = record(input=ADDRESS, output=ADDRESS, **SHAPE, beta=FLOAT32, scratch=ADDRESS)
SOFTMAX_TABLE = record(input=ADDRESS, output=ADDRESS, **SHAPE, table=ADDRESS)

LANES = 256
"""Lanes that are worked on together where the axis is not the innermost one."""


def lower_softmax(op: BoundOperation) -> list[Step]:
    """View the input as [outer, length, inner]; `length` runs along the axis.

    Floating point: rows (inner = 1) and lanes have kernels of their own. Quantized: the
    exponentials of all differences from the maximum come from a table.
    """
    dimensions = op.input.dimensions
    axis = op.axis % len(dimensions)
    outer, length, inner = prod(dimensions[:axis]), dimensions[axis], prod(dimensions[axis + 1 :])
    fields: dict[str, Any] = {"outer": outer, "length": length, "inner": inner}
    lanes, lane_elements = outer * inner, length
    layout, kernel = SOFTMAX, "softmax"
    if op.variant in ("qu8", "qs8"):
        layout, fields["table"] = SOFTMAX_TABLE, _table(op)
    else:
        fields["beta"] = op.beta
        if inner > 1:
            layout, kernel = SOFTMAX_LANES, "softmax_lanes"
            lanes, lane_elements = outer * -(-inner // LANES), length * min(inner, LANES)
    tile_rows = max(1, TILE // lane_elements)
    tiles = -(-lanes // tile_rows)
    if layout is SOFTMAX_LANES:
        fields["scratch"] = Buffer(tiles * 2 * LANES * 4)
    step = Step(
        layout,
        f"{kernel}_{op.variant}",
        tiles=tiles,
        input=op.input,
        output=op.output,
        tile_rows=tile_rows,
        **fields,
    )
    return [step]


def _table(op: BoundOperation) -> bytes:
    """e^(beta * scale * (i - 255)) at index i: of a number that is 255 - i below the maximum."""
    step = op.beta * op.input.scale
    return pack("<256f", *(exp(step * (i - 255)) for i in range(256)))
