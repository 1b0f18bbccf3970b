"""SOFTMAX as steps."""

from math import exp, prod
from struct import pack

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
    length, inner = dimensions[axis], prod(dimensions[axis + 1 :])
    fields = {
        "input": op.input,
        "output": op.output,
        "outer": prod(dimensions[:axis]),
        "length": length,
        "inner": inner,
    }
    kernel = f"softmax_{op.variant}"
    rows = fields["outer"] * inner
    if op.variant in ("qu8", "qs8"):
        return [Step(SOFTMAX_TABLE, kernel, **_tiles(rows, length), **fields, table=_table(op))]
    if inner == 1:
        return [Step(SOFTMAX, kernel, **_tiles(rows, length), **fields, beta=op.beta)]
    blocks = fields["outer"] * -(-inner // LANES)
    tiles = _tiles(blocks, length * min(inner, LANES))
    scratch = Buffer(tiles["tiles"] * 2 * LANES * 4)
    kernel = f"softmax_lanes_{op.variant}"
    return [Step(SOFTMAX_LANES, kernel, **tiles, **fields, beta=op.beta, scratch=scratch)]


def _tiles(rows: int, row_elements: int) -> dict[str, int]:
    """Number of tiles, and rows per tile."""
    tile_rows = max(1, TILE // row_elements)
    return {"tiles": -(-rows // tile_rows), "tile_rows": tile_rows}


def _table(op: BoundOperation) -> bytes:
    """e^(beta * scale * (i - 255)) at index i: of a number that is 255 - i below the maximum."""
    step = op.beta * op.input.scale
    return pack("<256f", *(exp(step * (i - 255)) for i in range(256)))
