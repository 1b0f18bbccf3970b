"""Fuses SPACE_TO_BATCH_ND, a convolution with stride 1 and no padding, and BATCH_TO_SPACE_ND into a
dilated convolution. TensorFlow exports dilated convolutions in this form.
"""

from nnapi_shim.drivers.cpu.passes.graph.pattern import Op, matches
from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.drivers.cpu.passes.graph.windows import (
    CONVOLUTIONS,
    WindowAxis,
    axes,
    is_finite,
    with_axes,
)
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Operation

O = OperationType  # noqa: E741
PLAIN = WindowAxis(1, stride=1, dilation=1, head=0, tail=0)

SPLIT = Op(O.SPACE_TO_BATCH_ND)
CONVOLUTION = Op(CONVOLUTIONS, SPLIT)
JOINED = Op(O.BATCH_TO_SPACE_ND, CONVOLUTION)


def fuse_dilation(graph: MutableGraph) -> None:
    """Fuse the three operations where both block sizes are equal."""
    for match in matches(graph, JOINED):
        first, item, last = match[SPLIT], match[CONVOLUTION], match[JOINED]
        window = axes(graph, item)
        blocks = _blocks(graph, first, last)
        if window is None or blocks is None or not is_finite(graph, item.inputs[1]):
            continue
        if any(axis != PLAIN._replace(size=axis.size) for axis in window):
            continue
        source, target = first.inputs[0], last.outputs[0]
        spread = _dilated(graph, first, target, window, blocks)
        if spread is None:
            continue
        height, width = spread
        if not (height.is_legal and width.is_legal):
            continue
        match.replace(CONVOLUTION, with_axes(graph, item, source, target, height, width))
        graph.report(item, f"{title(item)}: dilated, without {title(first)} and {title(last)}")


def _dilated(
    graph: MutableGraph,
    first: Operation,
    target: int,
    window: tuple[WindowAxis, WindowAxis],
    blocks: tuple[int, int],
) -> tuple[WindowAxis, WindowAxis] | None:
    """The window axes of the dilated convolution; None if its output dimensions would differ."""
    paddings = graph.value(first.inputs[2])
    image, result = graph.operands[first.inputs[0]].dimensions, graph.operands[target].dimensions
    if image[0] != result[0]:
        return None
    spread = []
    for along, axis in enumerate(window):
        head, tail = paddings[2 * along : 2 * along + 2]
        dilated = axis._replace(dilation=blocks[along], head=head, tail=tail)
        if result[1 + along] != head + image[1 + along] + tail - dilated.extent + 1:
            return None
        spread.append(dilated)
    return spread[0], spread[1]


def _blocks(graph: MutableGraph, first: Operation, last: Operation) -> tuple[int, int] | None:
    """The block size that both operations share; None if theirs differ or are not constant."""
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
