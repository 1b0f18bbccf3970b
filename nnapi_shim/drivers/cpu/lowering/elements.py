"""Element-wise work: how it is cut into tiles, and the steps that have one element in, one out."""

from array import array
from collections.abc import Iterable, Sequence
from math import copysign, floor, inf

from nnapi_shim.drivers.cpu.lowering.byte_tables import Formula, rescaled
from nnapi_shim.drivers.cpu.program.record import (
    ADDRESS,
    FLOAT32_MAX,
    INT64,
    Buffer,
    Record,
    Space,
    Step,
    record,
)
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import ELEMENT_BYTES, QUANTIZED_RANGE
from nnapi_shim.hal.types import element_count
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperand, BoundOperation

ELEMENTS = {"count": INT64, "part": INT64}
"""In a record: a tile is `part` of `count` elements."""
MAP = record(Space.ELEMENTS, input=ADDRESS, output=ADDRESS, **ELEMENTS)
LOOKUP = record(Space.ELEMENTS, input=ADDRESS, output=ADDRESS, **ELEMENTS, table=ADDRESS)

TILE = 1 << 14
"""Elements per tile, of which the dearest kernels do two in a nanosecond, the others eight."""


def shared(count: int, part: int = TILE) -> dict[str, Any]:
    """How a Step cuts `count` elements: its tiles, of which the last may be short, and ELEMENTS."""
    return {"tiles": -(-count // part), "count": count, "part": part}


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
        table=rescaled(operand, target, requantized(operand, target)),
    )
    return [step], buffer


def stays(operand: BoundOperand, target: BoundOperand) -> bool:
    """Whether `requantized` changes nothing: the parameters are the same, and no number that the
    operand stands for exceeds float32.
    """
    same = (operand.scale, operand.zero_point) == (target.scale, target.zero_point)
    return same and operand.scale <= FLOAT32_MAX / 255


def requantized(operand: BoundOperand, target: BoundOperand) -> Formula:
    """round((q - z) * s / s_target + z_target) of stored values within the type, the product in
    float32 (semantics.md 5.5).
    """

    def formula(values: Sequence[int]) -> list[int]:
        products = singles([(q - operand.zero_point) * operand.scale for q in values])
        scale, zero_point = target.scale, target.zero_point
        return all_saturated([product / scale + zero_point for product in products], target.type)

    return formula


# Tables have 256 results, so each step of a formula is a list of all of them: calls of functions
# for each would take as long as the rest of compiling an operation.


def byte_table(type: OperandType, results: list[int]) -> bytes:
    """The results for all stored values of a type, by the byte that each is stored in."""
    lowest, _ = QUANTIZED_RANGE[type]
    results = [result & 255 for result in results]
    return bytes(results[-lowest:] + results[:-lowest])  # bytes are read as unsigned


def singles(values: Iterable[float]) -> Sequence[float]:
    """Each rounded to the nearest float32; infinity where none is large enough."""
    return array("f", values)


def all_saturated(values: Iterable[float], type: OperandType) -> list[int]:
    """The nearest stored value of each, halves away from zero; of NaN the lowest."""
    lowest, highest = QUANTIZED_RANGE[type]
    return [
        (int(value + 0.5) if value >= 0 else -int(0.5 - value))
        if lowest < value < highest
        else (highest if value >= highest else lowest)
        for value in values
    ]


def all_rounded_away(values: Iterable[float]) -> list[float]:
    """The nearest integer of each, halves away from zero; infinities and NaN stay what they are."""
    return [
        copysign(floor(abs(value) + 0.5), value) if -inf < value < inf else value
        for value in values
    ]
