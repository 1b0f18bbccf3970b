"""Convolutions. Images are computed with their channels last."""

import math
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.operations import NONE
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.elementwise import Lowering
from nnapi_shim.formats.onnx.importing.graph import Importing
from nnapi_shim.formats.onnx.importing.value import FLOATS, LAST, Value


class Window(NamedTuple):
    """A window that moves over height and width. pads: top, left, bottom, right."""

    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    pads: tuple[int, int, int, int]

    @property
    def sides(self) -> list[int]:
        """The pads in NNAPI's order: left, right, top, bottom."""
        top, left, bottom, right = self.pads
        return [left, right, top, bottom]

    @property
    def steps(self) -> list[int]:
        """The strides as width, height."""
        return list(reversed(self.strides))


def _two(values: Any, what: str, default: int) -> tuple[int, int]:
    """Numbers of one or two dimensions, as height and width."""
    values = [default] * 2 if values is None else list(values)
    if not 1 <= len(values) <= 2:
        raise reason(
            f"{what} has {len(values)} numbers; NNAPI's images have 2 dimensions",
            "import.onnx.image-rank",
        )
    return (default, int(values[0])) if len(values) == 1 else (int(values[0]), int(values[1]))


def window(node: Node, kernel: tuple[int, ...], size: tuple[int, ...]) -> Window:
    """The window of a node over an image of a size, height and width."""
    attributes = node.attributes
    extent = _two(kernel, "its kernel", 1)
    strides = _two(attributes.get("strides"), "strides", 1)
    dilations = _two(attributes.get("dilations"), "dilations", 1)
    if min(*strides, *dilations, *extent) < 1:
        raise reason("a stride, dilation or kernel size is below 1", "import.onnx.window")
    auto = attributes.get("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        pads = _same(extent, strides, dilations, size, auto == "SAME_LOWER")
    elif auto in ("NOTSET", "VALID"):
        listed = _listed_pads(node)
        if len(listed) != 4 or min(listed) < 0:
            raise reason(f"pads {listed}", "import.onnx.pads")
        pads = (listed[0], listed[1], listed[2], listed[3])
    else:
        raise reason(f"auto_pad {auto!r}", "import.onnx.pads")
    return Window(extent, strides, dilations, pads)


def _listed_pads(node: Node) -> list[int]:
    """Top, left, bottom, right; 0 unless the node lists them."""
    is_listed = node.attributes.get("auto_pad", "NOTSET") == "NOTSET"
    listed = list(node.attributes.get("pads", ())) if is_listed else []
    return ([0, listed[0], 0, listed[1]] if len(listed) == 2 else listed) or [0] * 4


def _same(
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    size: tuple[int, ...],
    is_lower: bool,
) -> tuple[int, int, int, int]:
    before, after = [], []
    for k, stride, dilation, n in zip(kernel, strides, dilations, size, strict=True):
        out = -(-n // stride)
        total = max((out - 1) * stride + (k - 1) * dilation + 1 - n, 0)
        half = total // 2
        before.append(total - half if is_lower else half)
        after.append(half if is_lower else total - half)
    return before[0], before[1], after[0], after[1]


def image_of(graph: Importing, name: str) -> Operand:
    """An image with its channels last; a signal of rank 3 has height 1."""
    item = graph.value(name)
    if item.rank == 3:
        n, depth, width = item.shape
        return graph.moved(graph.reshaped(graph.operand(name), (n, depth, 1, width)), LAST)
    if item.rank != 4:
        raise reason(
            f"its input has {item.rank} dimensions; NNAPI's images have 2 besides batch and "
            "channels",
            "import.onnx.image-rank",
        )
    return graph.image(name)


def give_image(graph: Importing, node: Node, operand: Operand, type: str, rank: int) -> None:
    """Make an image the output of a node; of rank 3 without its height."""
    if rank == 4:
        graph.give(node, operand, type, is_last=True)
        return
    n, _, width, depth = operand.dimensions
    rows = graph.reshaped(operand, (n, width, depth))
    graph.give(node, graph.moved(rows, (0, 2, 1)), type)


def image_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Dimensions of weights; those of a signal with height 1."""
    return shape if len(shape) == 4 else (*shape[:2], 1, *shape[2:])


def filter_of(graph: Importing, name: str, perm: tuple[int, ...] = LAST) -> Operand:
    """The weights in NNAPI's order; those of a signal have height 1."""
    item = graph.value(name)
    shape = image_shape(item.shape)
    if len(shape) != 4:
        raise reason(f"its weights have {item.rank} dimensions", "import.onnx.image-rank")
    if item.array is not None:
        array = _reshaped(item.array, shape).transpose(perm)
        return graph.constant_operand(item._replace(array=array, shape=array.shape))
    return graph.moved(graph.reshaped(graph.operand(name), shape), perm)


def _reshaped(array: Any, shape: tuple[int, ...]) -> Any:
    """A view in another shape; equal elements stay one element."""
    if array.size and not any(array.strides):
        return np.broadcast_to(array.reshape(-1)[:1].reshape(()), shape)
    return array.reshape(shape)


def bias_of(graph: Importing, node: Node, at: int, like: Operand, count: int) -> Any:
    """The bias, or zeros."""
    if graph.has(node, at):
        return graph.operand(node.inputs[at])
    dtype = np.float16 if like.type.name.endswith("FLOAT16") else np.float32
    return np.zeros(count, dtype)


def _float_pair(graph: Importing, node: Node) -> tuple[Value, Value]:
    """The image and the weights."""
    image, weights = (graph.value(name) for name in node.inputs[:2])
    if image.type not in FLOATS or weights.type != image.type:
        raise reason(f"its inputs are {image.type} and {weights.type}", "import.onnx.type")
    return image, weights


def _conv(graph: Importing, node: Node) -> None:
    """Conv: CONV_2D, DEPTHWISE_CONV_2D or GROUPED_CONV_2D."""
    image, weights = _float_pair(graph, node)
    x = image_of(graph, node.inputs[0])
    _, height, width, depth = x.dimensions
    groups = int(node.attributes.get("group", 1))
    count = weights.shape[0]
    check_groups(groups, depth, count, weights.shape[1])
    size = window(node, weights.shape[2:], (height, width))
    bias = bias_of(graph, node, 2, x, count)
    result = convolved(graph, x, weights, bias, size, groups)
    give_image(graph, node, result, image.type, image.rank)


def check_groups(groups: int, depth: int, count: int, own: int) -> None:
    """Refuse sizes that do not go together."""
    if groups < 1 or depth % groups or count % groups or own * groups != depth:
        raise reason(
            f"{groups} groups for {depth} channels, {count} filters of {own} channels",
            "import.onnx.conv.groups",
        )


def convolution(
    graph: Importing,
    x: Operand,
    filter: Operand,
    bias: Any,
    size: Window,
    groups: int,
    **output: Any,
) -> Operand:
    """A convolution with a filter in NNAPI's order."""
    common = [x, filter, bias, *size.sides, *size.steps]
    dilations = list(reversed(size.dilations))
    if groups == 1:
        return graph.make("CONV_2D", [*common, NONE, False, *dilations], **output)
    if is_depthwise(x, groups):
        inputs = [*common, filter.dimensions[3] // groups, NONE, False, *dilations]
        return graph.make("DEPTHWISE_CONV_2D", inputs, **output)
    if size.dilations != (1, 1):
        raise reason("NNAPI's GROUPED_CONV_2D has no dilation", "import.onnx.conv.dilation")
    return graph.make("GROUPED_CONV_2D", [*common, groups, NONE, False], **output)


def is_depthwise(x: Operand, groups: int) -> bool:
    """Whether each channel of an image is a group."""
    return groups == x.dimensions[3] and groups > 1


def convolved(
    graph: Importing, x: Operand, weights: Value, bias: Any, size: Window, groups: int
) -> Operand:
    """A convolution of an image with weights [filters, channels / groups, height, width]."""
    perm = (1, 2, 3, 0) if is_depthwise(x, groups) else LAST
    return convolution(graph, x, filter_of(graph, weights.name, perm), bias, size, groups)


def _transposed(graph: Importing, node: Node) -> None:
    """ConvTranspose: TRANSPOSE_CONV_2D, one for each group."""
    image, weights = _float_pair(graph, node)
    x = image_of(graph, node.inputs[0])
    depth = x.dimensions[3]
    groups = int(node.attributes.get("group", 1))
    each = weights.shape[1]
    if groups < 1 or depth % groups or weights.shape[0] != depth:
        raise reason(f"{groups} groups for {depth} channels", "import.onnx.conv.groups")
    array = graph.constant(node.inputs[1], "its weights")
    array = array.reshape(image_shape(array.shape))
    if array.ndim != 4:
        raise reason(f"its weights have {array.ndim} dimensions", "import.onnx.image-rank")
    dilations = _two(node.attributes.get("dilations"), "dilations", 1)
    array = dilated(graph, array, dilations)
    strides = _two(node.attributes.get("strides"), "strides", 1)
    pads = _transposed_pads(node, array.shape[2:], strides, x.dimensions[1:3])
    beyond = [max(-pad, 0) for pad in pads[2:]]
    if any(beyond):  # taps of 0 make more rows, which output_padding asks for
        rows, columns = (n + more for n, more in zip(array.shape[2:], beyond, strict=True))
        larger = graph.room.filled((*array.shape[:2], rows, columns), 0, array.dtype, "weights")
        larger[:, :, : array.shape[2], : array.shape[3]] = array
        array, pads = larger, (*pads[:2], max(pads[2], 0), max(pads[3], 0))
    kernel = (array.shape[2], array.shape[3])
    bias = np.zeros(each * groups, array.dtype)
    if graph.has(node, 2):
        bias = graph.constant(node.inputs[2], "its bias")
    parts: Any = [x]
    if groups > 1:
        parts = graph.several("SPLIT", [x, 3, groups], output_count=groups)
    results = []
    for at, part in enumerate(parts):
        own = array[at * depth // groups : (at + 1) * depth // groups].transpose(1, 2, 3, 0)
        filter = graph.constant_operand(Value("weights", image.type, own.shape, own))
        size = Window(kernel, strides, (1, 1), pads)
        some = np.ascontiguousarray(bias[at * each : (at + 1) * each])
        inputs = [part, filter, some, *size.sides, *size.steps, NONE, False]
        results.append(graph.make("TRANSPOSE_CONV_2D", inputs))
    result = results[0] if groups == 1 else graph.make("CONCATENATION", [*results, 3])
    give_image(graph, node, result, image.type, image.rank)


def dilated(graph: Importing, array: Any, dilations: tuple[int, int]) -> Any:
    """Weights with zeros between their taps."""
    if dilations == (1, 1):
        return array
    rows, columns = ((n - 1) * d + 1 for n, d in zip(array.shape[2:], dilations, strict=True))
    result = graph.room.filled((*array.shape[:2], rows, columns), 0, array.dtype, "dilated weights")
    result[:, :, :: dilations[0], :: dilations[1]] = array
    return result


def _transposed_pads(
    node: Node, kernel: tuple[int, ...], strides: tuple[int, int], size: tuple[int, ...]
) -> tuple[int, int, int, int]:
    """Pads that cut the whole result; output_padding cuts less at the end, or adds to it."""
    attributes = node.attributes
    extra = _two(attributes.get("output_padding"), "output_padding", 0)
    auto = attributes.get("auto_pad", "NOTSET")
    listed = _listed_pads(node)
    wanted = attributes.get("output_shape")
    if wanted is not None or auto in ("SAME_UPPER", "SAME_LOWER"):
        full = [(n - 1) * s + k for n, s, k in zip(size, strides, kernel, strict=True)]
        if wanted is None:
            wanted = [n * s for n, s in zip(size, strides, strict=True)]
        sizes = _two(wanted[-2:], "output_shape", 1)
        totals = [f + e - n for f, e, n in zip(full, extra, sizes, strict=True)]
        halves = [total // 2 for total in totals]
        rest = [total - half for total, half in zip(totals, halves, strict=True)]
        listed = [*rest, *halves] if auto == "SAME_LOWER" else [*halves, *rest]
    listed[2] -= extra[0]
    listed[3] -= extra[1]
    if len(listed) != 4 or min(listed[:2]) < 0 or min(extra) < 0 or max(extra) > 64:
        raise reason(f"pads {listed}, output_padding {list(extra)}", "import.onnx.pads")
    if any(math.prod((n, s)) < 1 for n, s in zip(size, strides, strict=True)):
        raise reason("a stride is below 1", "import.onnx.window")
    return listed[0], listed[1], listed[2], listed[3]


LOWERINGS: dict[str, Lowering] = {"Conv": _conv, "ConvTranspose": _transposed}
