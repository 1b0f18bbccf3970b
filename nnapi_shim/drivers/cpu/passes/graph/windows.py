"""Convolution windows: reads and rewrites padding, stride and dilation for passes."""

from array import array
from math import isfinite

from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.hal.types import Operation
from nnapi_shim.hints import NamedTuple
from nnapi_shim.operations.shapes import span

CONVOLUTIONS = (OperationType.CONV_2D, OperationType.DEPTHWISE_CONV_2D)
MAX_WEIGHTS = 1 << 17
"""Weights of a filter, at most, that is checked for NaN and infinity."""


class WindowAxis(NamedTuple):
    """One axis of a window. size: of the filter. head, tail: padding before and after it."""

    size: int
    stride: int
    dilation: int
    head: int
    tail: int

    @property
    def extent(self) -> int:
        """Size of the dilated window."""
        return (self.size - 1) * self.dilation + 1

    @property
    def is_legal(self) -> bool:
        """Whether the padding is legal as explicit padding."""
        return 0 <= self.head < self.extent and 0 <= self.tail < self.extent


def axes(graph: MutableGraph, item: Operation) -> tuple[WindowAxis, WindowAxis] | None:
    """The height and width axes of a convolution's window; None if they are unknown or illegal, or
    the layout is not NHWC.
    """
    named = graph.named(item)
    if not graph.is_plain(*item.inputs, *item.outputs):
        return None
    if "nchw" in named and graph.value(named["nchw"]) is not False:
        return None
    numbers = {
        name: graph.value(index)
        for name, index in named.items()
        if graph.operands[index].type is OperandType.INT32
    }
    if None in numbers.values():
        return None
    image = graph.operands[item.inputs[0]].dimensions
    filter = graph.operands[named["filter"]].dimensions
    if len(image) != 4 or len(filter) != 4:
        return None
    result = []
    for dimension, along, head, tail in (
        (1, "height", "top", "bottom"),
        (2, "width", "left", "right"),
    ):
        size = filter[dimension]
        stride, dilation = numbers[f"stride_{along}"], numbers.get(f"dilation_{along}", 1)
        if stride < 1 or dilation < 1:
            return None
        padding = numbers.get(f"pad_{head}"), numbers.get(f"pad_{tail}")
        extent = (size - 1) * dilation + 1
        window = span(image[dimension], extent, stride, numbers.get("padding"), *padding)
        axis = WindowAxis(size, stride, dilation, window.head, window.tail)
        result.append(axis)
    return result[0], result[1]


def with_axes(
    graph: MutableGraph,
    item: Operation,
    source: int,
    target: int,
    height: WindowAxis,
    width: WindowAxis,
) -> Operation:
    """A copy of a convolution with another input, output and window."""
    named = graph.named(item)
    numbers = (
        *(width.head, width.tail, height.head, height.tail),
        *(width.stride, height.stride),
    )
    number = {value: graph.scalar(OperandType.INT32, value) for value in dict.fromkeys(numbers)}
    inputs = [source, named["filter"], named["bias"], *map(number.__getitem__, numbers)]
    inputs += [named[name] for name in ("depth_multiplier", "activation") if name in named]
    if (height.dilation, width.dilation) != (1, 1):
        inputs.append(graph.scalar(OperandType.BOOL, False))
        inputs += [graph.scalar(OperandType.INT32, it.dilation) for it in (width, height)]
    return item._replace(inputs=tuple(inputs), outputs=(target,))


def is_finite(graph: MutableGraph, index: int) -> bool:
    """Whether a filter has no NaN and no infinity, so that 0 * weight is 0; true for quantized
    filters.
    """
    operand = graph.operands[index]
    codes = {OperandType.TENSOR_FLOAT32: "f"}
    if operand.type not in (*codes, OperandType.TENSOR_FLOAT16):
        return True
    if operand.type not in codes or not graph.is_constant(index):
        return False
    weights = array(codes[operand.type], graph.contents(index))
    return len(weights) <= MAX_WEIGHTS and isfinite(sum(weights))
