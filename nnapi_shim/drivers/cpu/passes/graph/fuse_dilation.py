"""Blocks taken apart, convolved and put together again are a dilated convolution.

That is how files made with TensorFlow say it: SPACE_TO_BATCH_ND, a convolution without padding and
with strides of 1, BATCH_TO_SPACE_ND.
"""

from nnapi_shim.drivers.cpu.passes.graph.rewriter import Done, Graph, title
from nnapi_shim.drivers.cpu.passes.graph.windows import (
    CONVOLUTIONS,
    Axis,
    axes,
    is_finite,
    with_axes,
)
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Operation

NAME = "fuse_dilation"
O = OperationType  # noqa: E741
PLAIN = Axis(1, stride=1, dilation=1, head=0, tail=0)


def fuse_dilation(graph: Graph) -> None:
    """Three operations in a row, with the same blocks on both sides."""
    for position, last in graph.each(O.BATCH_TO_SPACE_ND):
        found = graph.before(last.inputs[0], *CONVOLUTIONS)
        if found is None:
            continue
        place, item = found
        before = graph.before(item.inputs[0], O.SPACE_TO_BATCH_ND)
        if before is None:
            continue
        at, first = before
        window = axes(graph, item)
        blocks = _blocks(graph, first, last)
        if window is None or blocks is None or not is_finite(graph, item.inputs[1]):
            continue
        if any(axis != PLAIN._replace(size=axis.size) for axis in window):
            continue
        source, target = first.inputs[0], last.outputs[0]
        paddings = graph.value(first.inputs[2])
        image, result = graph.operands[source].dimensions, graph.operands[target].dimensions
        spread = []
        for along, axis in enumerate(window):
            head, tail = paddings[2 * along : 2 * along + 2]
            dilated = axis._replace(dilation=blocks[along], head=head, tail=tail)
            if result[1 + along] != head + image[1 + along] + tail - dilated.extent + 1:
                break
            spread.append(dilated)
        if len(spread) < 2 or image[0] != result[0]:
            continue
        height, width = spread
        if not (height.is_legal and width.is_legal):
            continue
        graph.remove(at)
        graph.remove(position)
        graph.replace(place, with_axes(graph, item, source, target, height, width))
        what = f"{title(item)}: dilated, without {title(first)} and {title(last)}"
        graph.done.append(Done(NAME, item.number, what))


def _blocks(graph: Graph, first: Operation, last: Operation) -> tuple[int, int] | None:
    """The blocks that an image is taken apart into and put together of; None where these differ."""
    if not graph.is_plain(*first.inputs, *first.outputs, *last.inputs, *last.outputs):
        return None
    for item in (first, last):
        named = graph.named(item)
        if "nchw" in named and graph.value(named["nchw"]) is not False:
            return None
        one, other = graph.operands[item.inputs[0]], graph.operands[item.outputs[0]]
        if (one.scale, one.zero_point) != (other.scale, other.zero_point):
            return None
    blocks = graph.value(first.inputs[1])
    if blocks is None or blocks != graph.value(last.inputs[1]) or len(blocks) != 2:
        return None
    paddings = graph.value(first.inputs[2])
    if paddings is None or len(paddings) != 4:
        return None
    height, width = blocks
    return height, width
