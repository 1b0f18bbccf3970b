"""Zeros put around an image become the padding of the convolution behind."""

from collections.abc import Sequence

from nnapi_shim.drivers.cpu.passes.graph.rewriter import Done, Graph, title
from nnapi_shim.drivers.cpu.passes.graph.windows import CONVOLUTIONS, axes, is_finite, with_axes
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Operation

NAME = "fuse_padding"
O = OperationType  # noqa: E741


def fuse_padding(graph: Graph) -> None:
    """PAD and PAD_V2 of height and width in front of a convolution, with what stands for 0.

    Padding of a convolution is smaller than its window; of what is put around an image by more, the
    outermost elements would be read by nothing but the padding.
    """
    for position, item in graph.each(*CONVOLUTIONS):
        between = item.inputs[0]
        found = graph.before(between, O.PAD, O.PAD_V2)
        if found is None:
            continue
        place, first = found
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
        target = item.outputs[0]
        graph.remove(place)
        graph.replace(position, with_axes(graph, item, first.inputs[0], target, height, width))
        what = f"{title(first)}: the padding of {title(item)}"
        graph.done.append(Done(NAME, first.number, what))


def _zeros(graph: Graph, item: Operation) -> Sequence[tuple[int, int]] | None:
    """What a PAD puts in front and behind of height and width; None where it does something else,
    or that is not known.
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
