"""Changes of layout and of number format that other lowerings put around their kernels."""

from typing import Any

from nnapi_shim.drivers.cpu.record import ADDRESS, INT64, Buffer, Step, record
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hal.types import byte_size, element_count
from nnapi_shim.operations.declare import BoundOperand

TRANSPOSE = record(input=ADDRESS, output=ADDRESS, count=INT64, rows=INT64, columns=INT64)
CONVERT = record(input=ADDRESS, output=ADDRESS, count=INT64, parts=INT64)

TILE_BYTES = 256 << 10
"""Bytes of output that one tile of these steps writes, about."""


def to_nhwc(operand: BoundOperand, nchw: bool) -> tuple[list[Step], Any]:
    """Steps before, and where the image then lies in NHWC order."""
    if not nchw:
        return [], operand
    batch, depth, height, width = operand.dimensions
    buffer = Buffer(byte_size(operand))
    return [transpose(operand, buffer, operand, batch, depth, height * width)], buffer


def from_nhwc(operand: BoundOperand, nchw: bool) -> tuple[Any, list[Step]]:
    """Where to write an image in NHWC order, and steps after that bring it into the operand."""
    if not nchw:
        return operand, []
    batch, depth, height, width = operand.dimensions
    buffer = Buffer(byte_size(operand))
    return buffer, [transpose(buffer, operand, operand, batch, height * width, depth)]


def transpose(
    source: Any, target: Any, like: BoundOperand, count: int, rows: int, columns: int
) -> Step:
    """[count, rows, columns] -> [count, columns, rows] of elements as `like` has them."""
    size = ELEMENT_BYTES[like.type]
    return Step(
        TRANSPOSE,
        f"transpose_{8 * size}",
        tiles=count,
        input=source,
        output=target,
        count=count,
        rows=rows,
        columns=columns,
    )


def widened(source: Any, count: int) -> tuple[list[Step], Buffer]:
    """The step that turns `count` float16 numbers into float32, and where they then lie."""
    buffer = Buffer(4 * count)
    return [_convert("widen_f16", source, buffer, count)], buffer


def narrowed(target: Any, count: int) -> tuple[Buffer, list[Step]]:
    """Where to write float32 numbers, and the step that stores them as float16."""
    buffer = Buffer(4 * count)
    return buffer, [_convert("narrow_f16", buffer, target, count)]


def _convert(kernel: str, source: Any, target: Any, count: int) -> Step:
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
