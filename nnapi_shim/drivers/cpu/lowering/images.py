"""Images and numbers around kernels: NCHW as NHWC, float16 as float32."""

from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Buffer, Step, record
from nnapi_shim.hal.types import byte_size, element_count
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperand

CONVERT = record(input=ADDRESS, output=ADDRESS, count=INT64, parts=INT64)

TILE_BYTES = 256 << 10
"""Output bytes of a tile of a conversion, about."""


def to_nhwc(operand: BoundOperand, nchw: bool) -> tuple[list[Step], Any]:
    """(steps before, memory of the image in NHWC order)."""
    if not nchw:
        return [], operand
    from nnapi_shim.drivers.cpu.lowering.rearrange import transpose

    batch, depth, height, width = operand.dimensions
    buffer = Buffer(byte_size(operand))
    return [transpose(operand, buffer, operand, batch, depth, height * width)], buffer


def from_nhwc(operand: BoundOperand, nchw: bool) -> tuple[Any, list[Step]]:
    """(memory for an image in NHWC order, steps after that copy it to the operand)."""
    if not nchw:
        return operand, []
    from nnapi_shim.drivers.cpu.lowering.rearrange import transpose

    batch, depth, height, width = operand.dimensions
    buffer = Buffer(byte_size(operand))
    return buffer, [transpose(buffer, operand, operand, batch, height * width, depth)]


def widened(source: Any, count: int) -> tuple[list[Step], Buffer]:
    """(step that widens `count` float16 numbers, memory of the float32 numbers)."""
    buffer = Buffer(4 * count)
    return [convert("widen_f16", source, buffer, count)], buffer


def narrowed(target: Any, count: int) -> tuple[Buffer, list[Step]]:
    """(memory for float32 numbers, step after that stores them as float16)."""
    buffer = Buffer(4 * count)
    return buffer, [convert("narrow_f16", buffer, target, count)]


def convert(kernel: str, source: Any, target: Any, count: int) -> Step:
    """Convert `count` numbers with the kernel widen_f16 or narrow_f16."""
    parts = -(-4 * count // TILE_BYTES)
    return Step(CONVERT, kernel, tiles=parts, input=source, output=target, count=count, parts=parts)


def image_in(operand: BoundOperand, nchw: bool) -> tuple[list[Step], Any]:
    """As to_nhwc, with float16 widened to float32."""
    steps, source = to_nhwc(operand, nchw)
    if operand.type.name == "TENSOR_FLOAT16":
        more, source = widened(source, element_count(operand.dimensions))
        steps += more
    return steps, source


def image_out(operand: BoundOperand, nchw: bool) -> tuple[Any, list[Step]]:
    """As from_nhwc, with float32 narrowed to float16."""
    target, steps = from_nhwc(operand, nchw)
    if operand.type.name == "TENSOR_FLOAT16":
        target, first = narrowed(target, element_count(operand.dimensions))
        steps = first + steps
    return target, steps
