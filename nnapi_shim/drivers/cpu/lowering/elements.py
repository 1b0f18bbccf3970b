"""Element-wise work: how it is cut into tiles, and the steps that have one element in, one out."""

from collections.abc import Callable
from math import copysign, floor, isfinite

from nnapi_shim.drivers.cpu.record import (
    ADDRESS,
    FLOAT32_MAX,
    INT64,
    Buffer,
    Record,
    Step,
    record,
)
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import ELEMENT_BYTES, QUANTIZED_RANGE
from nnapi_shim.hal.types import element_count
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.rules import float32

ELEMENTS = {"count": INT64, "part": INT64}
"""In a record: a tile is `part` of `count` elements."""
MAP = record(input=ADDRESS, output=ADDRESS, **ELEMENTS)
LOOKUP = record(input=ADDRESS, output=ADDRESS, **ELEMENTS, table=ADDRESS)

TILE = 1 << 14
"""Elements per tile, of which the dearest kernels do two in a nanosecond, the others eight."""


def shared(count: int) -> dict[str, Any]:
    """How a Step cuts `count` elements: its tiles, of which the last may be short, and ELEMENTS."""
    return {"tiles": -(-count // TILE), "count": count, "part": TILE}


def element_wise(layout: Record, kernel: str, op: BoundOperation, **fields: Any) -> Step:
    """A step from op.input to op.output; in place where their elements have one size."""
    count = element_count(op.output.dimensions)
    same_size = ELEMENT_BYTES[op.input.type] == ELEMENT_BYTES[op.output.type]
    return Step(
        layout,
        kernel,
        in_place="input" if same_size else "",
        input=op.input,
        output=op.output,
        **shared(count),
        **fields,
    )


def translated(op: BoundOperation, table: Any) -> Step:
    """Quantized: every number by a table of all 256 results, a constant or a Buffer, by the byte
    that each is stored in.
    """
    return element_wise(LOOKUP, "lookup_b8", op, table=table)


def requantize(operand: BoundOperand, target: BoundOperand) -> tuple[list[Step], Any]:
    """Steps before, and where an operand then lies in the scale and zero point of `target`."""
    if stays(operand, target):
        return [], operand
    count = element_count(operand.dimensions)
    buffer = Buffer(count)
    step = Step(
        LOOKUP,
        "lookup_b8",
        input=operand,
        output=buffer,
        **shared(count),
        table=byte_table(operand.type, requantized(operand, target)),
    )
    return [step], buffer


def stays(operand: BoundOperand, target: BoundOperand) -> bool:
    """Whether `requantized` changes nothing: the parameters are the same, and no number that the
    operand stands for exceeds float32.
    """
    same = (operand.scale, operand.zero_point) == (target.scale, target.zero_point)
    return same and operand.scale <= FLOAT32_MAX / 255


def requantized(operand: BoundOperand, target: BoundOperand) -> Callable[[int], int]:
    """The function round((q - z) * s / s_target + z_target) of a stored value within the type, the
    product in float32 (semantics.md 5.5).
    """

    def result(stored: int) -> int:
        product = float32((stored - operand.zero_point) * operand.scale)
        return saturated(product / target.scale + target.zero_point, target.type)

    return result


def byte_table(type: OperandType, function: Callable[[int], int]) -> bytes:
    """The results of a function for all 256 stored values, by the byte that each is stored in."""
    lowest, highest = QUANTIZED_RANGE[type]
    results = [function(stored) & 255 for stored in range(lowest, highest + 1)]
    return bytes(results[-lowest:] + results[:-lowest])  # bytes are read as unsigned


def saturated(value: float, type: OperandType) -> int:
    """The nearest stored value, halves away from zero; NaN becomes the lowest."""
    lowest, highest = QUANTIZED_RANGE[type]
    return int(rounded_away(min(value, highest) if value > lowest else lowest))


def rounded_away(value: float) -> float:
    """The nearest integer, halves away from zero; infinities and NaN stay what they are."""
    return copysign(floor(abs(value) + 0.5), value) if isfinite(value) else value
