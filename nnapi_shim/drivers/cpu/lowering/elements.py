"""Element-wise steps: tiling, unary steps, byte tables and requantization."""

from math import copysign, floor, inf

from nnapi_shim.drivers.cpu.lowering.tiling import round_up, tile_of
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
from nnapi_shim.hints import TYPE_CHECKING, Any, Iterable, Sequence
from nnapi_shim.operations.declare import BoundOperand, BoundOperation

if TYPE_CHECKING:
    from nnapi_shim.drivers.cpu.lowering.byte_tables import Formula

ELEMENTS = {"count": INT64, "part": INT64}
"""In a record: a tile is `part` of `count` elements."""
MAP = record(Space.ELEMENTS, input=ADDRESS, output=ADDRESS, **ELEMENTS)
LOOKUP = record(Space.ELEMENTS, input=ADDRESS, output=ADDRESS, **ELEMENTS, table=ADDRESS)
LINE = record(
    Space.ELEMENTS, input=ADDRESS, output=ADDRESS, **ELEMENTS,
    zero_point=INT64, shift=INT64, multiplier=INT64, target_zero_point=INT64, flip=INT64,
)  # fmt: skip
"""Requantized bytes (byte_lines.py). target_zero_point: of an int8, whose bits are XORed with
`flip` where the output is uint8.
"""

TILE = 1 << 14
"""Elements per tile: kernels process 2 to 8 elements per nanosecond; LOOKUP is so fast that its
tiles have no fewer for many threads.
"""

WHOLE = 64
"""Elements that tiles are multiples of: whole vectors."""


def shared(count: int, part: int = 0) -> dict[str, Any]:
    """The tiles of a Step over `count` elements, and values for ELEMENTS; the last tile may be
    short. part: elements of a tile; by default TILE, or less for many threads.
    """
    part = part or round_up(tile_of(TILE, count), WHOLE)
    return {"tiles": -(-count // part), "count": count, "part": part}


def element_wise(layout: Record, kernel: str, op: BoundOperation, **fields: Any) -> Step:
    """A step from op.input to op.output, in place if the element sizes are equal."""
    count = element_count(op.output.dimensions)
    same_size = ELEMENT_BYTES[op.input.type] == ELEMENT_BYTES[op.output.type]
    return Step(
        layout,
        kernel,
        in_place="input" if same_size else "",
        input=op.input,
        output=op.output,
        **shared(count, TILE if layout is LOOKUP else 0),
        **fields,
    )


def translated(op: BoundOperation, table: Any) -> Step:
    """A lookup step for quantized bytes. table: the result for each of the 256 stored bytes, a
    constant or a Buffer.
    """
    return element_wise(LOOKUP, "lookup_b8", op, table=table)


def requantize(operand: BoundOperand, target: BoundOperand) -> tuple[list[Step], Any]:
    """(steps before, memory of an operand in the scale and zero point of `target`)."""
    if stays(operand, target):
        return [], operand
    from nnapi_shim.drivers.cpu.lowering.byte_tables import rescaled

    buffer = Buffer(element_count(operand.dimensions))
    table = rescaled(operand, target, requantized(operand, target))
    return [rescaling(operand, target, table, input=operand, output=buffer)], buffer


def rescaling(source: BoundOperand, target: BoundOperand, table: bytes, **ends: Any) -> Step:
    """The step that replaces bytes by those of a table for another scale and zero point. ends: the
    input and the output.
    """
    from nnapi_shim.drivers.cpu.lowering.byte_lines import line_of

    tiles = shared(element_count(source.dimensions), TILE)
    line = line_of(source, target, table)
    if line is None:
        return Step(LOOKUP, "lookup_b8", **ends, **tiles, table=table)
    name = "line_qu8" if QUANTIZED_RANGE[source.type][0] == 0 else "line_qs8"
    return Step(LINE, name, **ends, **tiles, **line._asdict())


def stays(operand: BoundOperand, target: BoundOperand) -> bool:
    """Whether `requantized` is the identity: the parameters are equal, and no real value overflows
    float32.
    """
    same = (operand.scale, operand.zero_point) == (target.scale, target.zero_point)
    return same and operand.scale <= FLOAT32_MAX / 255


def requantized(operand: BoundOperand, target: BoundOperand) -> "Formula":
    """round((q - z) * s / s_target + z_target) of stored values, clamped to the type; the product
    is float32 (semantics.md 5.5).
    """

    def formula(values: Sequence[int]) -> list[int]:
        products = singles([(q - operand.zero_point) * operand.scale for q in values])
        scale, zero_point = target.scale, target.zero_point
        return all_saturated([product / scale + zero_point for product in products], target.type)

    return formula


# A step of a formula processes a list of all 256 values: a function call per value would take as
# long as the rest of the lowering.


def byte_table(type: OperandType, results: list[int]) -> bytes:
    """A table by stored byte, from the results for all values of a type in ascending order."""
    lowest, _ = QUANTIZED_RANGE[type]
    results = [result & 255 for result in results]
    return bytes(results[-lowest:] + results[:-lowest])  # bytes are read as unsigned


def singles(values: Iterable[float]) -> Sequence[float]:
    """Round each value to the nearest float32, or infinity."""
    from array import array  # a library of its own, which few models need

    return array("f", values)


def all_saturated(values: Iterable[float], type: OperandType) -> list[int]:
    """Round each value to the type, halves away from zero; NaN becomes the lowest value."""
    lowest, highest = QUANTIZED_RANGE[type]
    return [
        (int(value + 0.5) if value >= 0 else -int(0.5 - value))
        if lowest < value < highest
        else (highest if value >= highest else lowest)
        for value in values
    ]


def all_rounded_away(values: Iterable[float]) -> list[float]:
    """Round each value to the nearest integer, halves away from zero; keeps infinities and NaN."""
    return [
        copysign(floor(abs(value) + 0.5), value) if -inf < value < inf else value
        for value in values
    ]
