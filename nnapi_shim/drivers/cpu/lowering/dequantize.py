"""Conversion of operands of any type to float32 and back, around float32 kernels.

It is used for coordinates and scores of boxes: float16 is widened, quantized values become
(q - zero_point) * scale; results are rounded once.
"""

from nnapi_shim.drivers.cpu.lowering.conversion import DEQUANTIZE
from nnapi_shim.drivers.cpu.lowering.elements import ELEMENTS, shared
from nnapi_shim.drivers.cpu.lowering.images import convert, widened
from nnapi_shim.drivers.cpu.lowering.joining import copy_rows
from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32, At, Buffer, Space, Step, record
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import ELEMENT_BYTES, QUANTIZED_RANGE
from nnapi_shim.hal.types import element_count
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperand

STORE = record(
    Space.ELEMENTS, input=ADDRESS, output=ADDRESS, **ELEMENTS,
    scale=FLOAT32, zero_point=FLOAT32, low=FLOAT32, high=FLOAT32,
)  # fmt: skip

_NAMES = {
    T.TENSOR_QUANT8_ASYMM: "qu8",
    T.TENSOR_QUANT8_ASYMM_SIGNED: "qs8",
    T.TENSOR_QUANT16_ASYMM: "qu16",
    T.TENSOR_QUANT16_SYMM: "qs16",
}


def reals(operand: BoundOperand, source: Any = None) -> tuple[list[Step], Any]:
    """(steps before, memory of an operand as float32); the memory is None if it is empty.

    source: memory of the elements, if not the operand itself.
    """
    source = source or operand
    count = element_count(operand.dimensions)
    if count == 0:
        return [], None
    if operand.type == T.TENSOR_FLOAT32:
        return [], source
    if operand.type == T.TENSOR_FLOAT16:
        return widened(source, count)
    buffer = Buffer(4 * count)
    step = Step(
        DEQUANTIZE,
        f"dequantize_{_NAMES[operand.type]}_f32",
        input=source,
        output=buffer,
        **shared(count),
        scale=operand.scale,
        zero_point=operand.zero_point,
    )
    return [step], buffer


def from_reals(operand: BoundOperand) -> tuple[Any, list[Step]]:
    """(memory for an operand as float32, steps after that store its elements)."""
    if operand.type == T.TENSOR_FLOAT32:
        return operand, []
    count = element_count(operand.dimensions)
    buffer = Buffer(4 * count)
    return buffer, [store(buffer, operand, 0, count)]


def store(source: Any, operand: BoundOperand, first: int, count: int) -> Step:
    """Store `count` float32 numbers as elements of an operand, from element `first` on.

    Quantized: round(x / scale + zero_point) (semantics.md 5.5). TENSOR_INT32 is copied.
    """
    size = ELEMENT_BYTES[operand.type]
    target = At(operand, size * first)
    if operand.type in (T.TENSOR_FLOAT32, T.TENSOR_INT32):
        return copy_rows(source, target, 1, size * count, size * count, size * count)
    if operand.type == T.TENSOR_FLOAT16:
        return convert("narrow_f16", source, target, count)
    low, high = QUANTIZED_RANGE[operand.type]
    return Step(
        STORE,
        f"store_{8 * size}",
        input=source,
        output=target,
        **shared(count),
        scale=operand.scale,
        zero_point=operand.zero_point,
        low=low,
        high=high,
    )
