"""The windows of convolutions, for passes that change them."""

from array import array
from math import isfinite

from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.hal.types import Operation
from nnapi_shim.hints import NamedTuple
from nnapi_shim.operations.shapes import span

CONVOLUTIONS = (OperationType.CONV_2D, OperationType.DEPTHWISE_CONV_2D)
MOST_WEIGHTS = 1 << 17
"""Weights of a filter up to which they are checked."""


class WindowAxis(NamedTuple):
    """One axis of a window: the size of the filter, and the padding before and behind the image."""

    size: int
    stride: int
    dilation: int
    head: int
    tail: int

    @property
    def extent(self) -> int:
        """Elements that the window covers."""
        return (self.size - 1) * self.dilation + 1

    @property
    def is_legal(self) -> bool:
        """Whether explicit padding may be so."""
        return 0 <= self.head < self.extent and 0 <= self.tail < self.extent


def axes(graph: MutableGraph, item: Operation) -> tuple[WindowAxis, WindowAxis] | None:
    """Height and width of a convolution's window; None where it is not known, not allowed, or the
    image is not in the order NHWC.
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
    found = []
    for at, along, head, tail in ((1, "height", "top", "bottom"), (2, "width", "left", "right")):
        size = filter[at]
        stride, dilation = numbers[f"stride_{along}"], numbers.get(f"dilation_{along}", 1)
        if stride < 1 or dilation < 1:
            return None
        given = numbers.get(f"pad_{head}"), numbers.get(f"pad_{tail}")
        extent = (size - 1) * dilation + 1
        window = span(image[at], extent, stride, numbers.get("padding"), *given)
        axis = WindowAxis(size, stride, dilation, window.head, window.tail)
        found.append(axis)
    return found[0], found[1]


def with_axes(
    graph: MutableGraph,
    item: Operation,
    source: int,
    target: int,
    height: WindowAxis,
    width: WindowAxis,
) -> Operation:
    """A convolution of another image, or with another result, and with these axes."""
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
    """Whether a filter has no infinite number and no NaN, so that 0 times it is 0; quantized ones
    have none.
    """
    operand = graph.operands[index]
    codes = {OperandType.TENSOR_FLOAT32: "f"}
    if operand.type not in (*codes, OperandType.TENSOR_FLOAT16):
        return True
    if operand.type not in codes or not graph.is_constant(index):
        return False
    weights = array(codes[operand.type], graph.contents(index))
    return len(weights) <= MOST_WEIGHTS and isfinite(sum(weights))
