"""Fuses zero padding of an image into the padding of the following convolution."""

from nnapi_shim.drivers.cpu.passes.graph.pattern import Op, matches
from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.drivers.cpu.passes.graph.windows import CONVOLUTIONS, axes, is_finite, with_axes
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Operation
from nnapi_shim.hints import Sequence

O = OperationType  # noqa: E741

PADDED = Op((O.PAD, O.PAD_V2))
CONVOLUTION = Op(CONVOLUTIONS, PADDED)


def fuse_padding(graph: MutableGraph) -> None:
    """Fuse PAD and PAD_V2 of height and width, with the zero value, into a convolution.

    The padding must be smaller than the dilated window, as explicit padding requires.
    """
    for match in matches(graph, CONVOLUTION):
        item, first = match[CONVOLUTION], match[PADDED]
        padding = _zeros(graph, first)
        window = axes(graph, item)
        if padding is None or window is None or not is_finite(graph, item.inputs[1]):
            continue
        height, width = (
            axis._replace(head=axis.head + head, tail=axis.tail + tail)
            for axis, (head, tail) in zip(window, padding, strict=True)
        )
        if not (height.is_legal and width.is_legal):
            continue
        source, (target,) = first.inputs[0], item.outputs
        match.replace(CONVOLUTION, with_axes(graph, item, source, target, height, width))
        graph.report(first, f"{title(first)}: the padding of {title(item)}")


def _zeros(graph: MutableGraph, item: Operation) -> Sequence[tuple[int, int]] | None:
    """The zero padding (head, tail) of height and width; None if the operation pads other
    dimensions or another value, or its paddings are not constant.
    """
    source, target = item.inputs[0], item.outputs[0]
    paddings = graph.value(item.inputs[1])
    if paddings is None or len(paddings) != 8:
        return None
    one, other = graph.operands[source], graph.operands[target]
    if (one.scale, one.zero_point) != (other.scale, other.zero_point):
        return None
    pairs = ((0, 0), (paddings[2], paddings[3]), (paddings[4], paddings[5]), (0, 0))
    sizes = [sum(pair) + size for pair, size in zip(pairs, one.dimensions, strict=False)]
    if len(one.dimensions) != 4 or tuple(sizes) != other.dimensions or not all(one.dimensions):
        return None
    if item.type is O.PAD_V2:
        value = graph.value(item.inputs[2])
        if value is None or value != one.zero_point:
            return None
    return pairs[1:3]
