"""Requantization constants of quantized sums; see codegen/requantization.py."""

from struct import pack

from nnapi_shim.drivers.cpu.isa.tier import Tiling
from nnapi_shim.drivers.cpu.lowering.bounds import quantized_bounds
from nnapi_shim.drivers.cpu.lowering.constant_bytes import ConstantBytes
from nnapi_shim.drivers.cpu.lowering.descriptor import ProductDescriptor
from nnapi_shim.drivers.cpu.lowering.tiling import tier
from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32, INT64, Buffer, Step, record
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hints import Any, Sequence
from nnapi_shim.operations.declare import BoundOperand

FEWEST_FLOORED = 16
"""Sums of a column from which it is worth a proof that they can be rounded down."""
REQUANTIZATION_TABLE = record(multipliers=ADDRESS, output=ADDRESS, width=INT64, zero_point=INT64)

COLUMN_BYTES = 20
"""Bytes per column of a requantization table."""


def signed_zero(operand: BoundOperand) -> tuple[int, int]:
    """(XOR mask that converts stored bytes to int8, zero point of the int8)."""
    if operand.type is OperandType.TENSOR_QUANT8_ASYMM:
        return 0x80, operand.zero_point - 128
    return 0, operand.zero_point


def dot_zero(operand: BoundOperand, tiling: Tiling) -> tuple[int, int]:
    """As signed_zero, for the bytes that dot products take: uint8 if they are not signed_dots."""
    flip, zero = signed_zero(operand)
    return (flip, zero) if tiling.signed_dots else (flip ^ 0x80, zero + 128)


def float64s(values: Sequence[float]) -> bytes:
    """An array of float64."""
    count = len(values)
    if count and values[0] and values.count(values[0]) == count:  # of equal bits, as none is 0
        return pack("<d", values[0]) * count
    return pack(f"<{count}d", *values)


def table(multipliers: Sequence[float], zero_point: int) -> tuple[Step, Buffer]:
    """(step that fills a table at compilation, table); zero_point: as in `finish`."""
    width = len(multipliers)
    output = Buffer(COLUMN_BYTES * width)
    numbers = float64s(multipliers)
    step = Step(
        REQUANTIZATION_TABLE,
        "requantization_table",
        once=True,
        multipliers=numbers,
        output=output,
        width=width,
        zero_point=zero_point,
    )
    return step, output


def may_be_floored(fields: dict[str, Any]) -> bool:
    """Whether floored_steps of a step with such FINISH may be above 0."""
    return bool(tier().rounds_down and fields["low"] == fields["zero_point"])


def floored_steps(product: ProductDescriptor, filter: BoundOperand, sums: int) -> int:
    """The outputs of a product above the zero point, if none is below it and each column of its
    constant filter has many sums: then columns may be requantized by rounding down
    (codegen/floored.py). Otherwise 0.
    """
    if not tier().rounds_down or sums < FEWEST_FLOORED or type(filter.value) is not ConstantBytes:
        return 0
    lowest, highest = quantized_bounds(product.activation, product.output)
    return highest - lowest if lowest == product.output.zero_point else 0


FINISH = {
    "zero_point": INT64,
    "low": FLOAT32,
    "high": FLOAT32,
    "output_flip": INT64,
}
"""Fields of the epilogue of quantized sums."""


def finish(activation: int | None, target: BoundOperand) -> dict[str, Any]:
    """Values for FINISH: zero point and bounds of the output as int8, and the final XOR mask."""
    smallest, largest = quantized_bounds(activation, target)
    flip, zero_point = signed_zero(target)
    return {
        "zero_point": zero_point,
        "low": float(smallest - flip),
        "high": float(largest - flip),
        "output_flip": flip,
    }
