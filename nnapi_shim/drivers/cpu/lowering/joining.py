"""CONCATENATION as steps: one for each input, which writes its share of every row of the output."""

from math import prod
from typing import Any

from nnapi_shim.drivers.cpu.record import ADDRESS, FLOAT32, INT64, At, Buffer, Step, record
from nnapi_shim.hal.quantization import ELEMENT_BYTES, QUANTIZED_RANGE
from nnapi_shim.hal.types import element_count
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.rules import float32

ROWS = {
    "input": ADDRESS,
    "output": ADDRESS,
    "rows": INT64,
    "bytes": INT64,
    "input_step": INT64,
    "output_step": INT64,
    "tile_rows": INT64,
}
COPY_ROWS = record(**ROWS)
REQUANTIZE = record(
    **ROWS, scale=FLOAT32, offset=FLOAT32, low=FLOAT32, high=FLOAT32, zero_point=INT64
)

TILE_BYTES = 1 << 17
"""About how many bytes a tile copies."""


def lower_concatenation(op: BoundOperation) -> list[Step]:
    """Bytes are copied; quantized inputs with other parameters than the output are requantized."""
    output = op.output
    size = ELEMENT_BYTES[output.type]
    row_bytes = size * prod(output.dimensions[op.axis :])
    steps, at = [], 0
    for operand in op.inputs:
        count = size * prod(operand.dimensions[op.axis :])
        if element_count(operand.dimensions):
            rows = element_count(operand.dimensions) * size // count
            same = (operand.scale, operand.zero_point) == (output.scale, output.zero_point)
            place = (operand, At(output, at), rows, count, count, row_bytes)
            steps.append(copy_rows(*place) if same else _requantize(op, operand, place))
        at += count
    return steps


def copy_rows(
    source: Any, target: Any, rows: int, count: int, input_step: int, output_step: int
) -> Step:
    """Copy rows of `count` bytes; the steps lead from a row to the next, 0 repeats it."""
    fields, tiles = _rows(source, target, rows, count, input_step, output_step)
    return Step(COPY_ROWS, "copy_rows", tiles=tiles, once=isinstance(target, Buffer), **fields)


def _requantize(op: BoundOperation, operand: Any, place: tuple[Any, ...]) -> Step:
    """zero_point + round(stored * scale + offset), in float32 (semantics.md 9).

    Signed values are seen as unsigned ones, 128 higher, which moves both zero points.
    """
    lowest, highest = QUANTIZED_RANGE[op.output.type]
    unsigned_zero = op.output.zero_point - lowest
    scale = float32(operand.scale * float32(1 / op.output.scale))
    fields, tiles = _rows(*place)
    return Step(
        REQUANTIZE,
        f"requantize_{op.variant}",
        tiles=tiles,
        **fields,
        scale=scale,
        offset=float32((lowest - operand.zero_point) * scale),
        low=-unsigned_zero,
        high=highest - lowest - unsigned_zero,
        zero_point=op.output.zero_point,
    )


def _rows(
    source: Any, target: Any, rows: int, count: int, input_step: int, output_step: int
) -> tuple[dict[str, Any], int]:
    """Fields that describe the rows, and the number of tiles."""
    tile_rows = max(1, TILE_BYTES // count)
    fields = {
        "input": source,
        "output": target,
        "rows": rows,
        "bytes": count,
        "input_step": input_step,
        "output_step": output_step,
        "tile_rows": tile_rows,
    }
    return fields, -(-rows // tile_rows)
