"""Pooling and resizing of images."""

from typing import Any

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.math import Math
from nnapi_shim.formats.importing.operations import NONE
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.convolution import Window, give_image, image_of, window
from nnapi_shim.formats.onnx.importing.elementwise import Lowering
from nnapi_shim.formats.onnx.importing.graph import Importing
from nnapi_shim.formats.onnx.importing.value import BYTES, FLOATS


def _window(node: Node, size: tuple[int, ...], name: str = "kernel_shape") -> Window:
    """The window; with ceil_mode it is moved beyond the end as often as it starts inside."""
    pool = window(node, tuple(node.attributes.get(name, ())), size)
    if pool.dilations != (1, 1):
        raise reason("NNAPI's pooling has no dilation", "import.onnx.pool.dilation")
    if not node.attributes.get("ceil_mode", 0) or node.attributes.get("auto_pad", "NOTSET") not in (
        "NOTSET",
        "VALID",
    ):
        return pool
    pads = list(pool.pads)
    for axis in (0, 1):
        n, k, s = size[axis], pool.kernel[axis], pool.strides[axis]
        before, after = pads[axis], pads[axis + 2]
        count = -(-(n + before + after - k) // s) + 1
        if (count - 1) * s >= n + before:
            count -= 1
        pads[axis + 2] = max((count - 1) * s + k - n - before, 0)
        if (count - 1) * s + k < n + before:  # the last rows are left out
            pads[axis + 2] = 0
    return pool._replace(pads=(pads[0], pads[1], pads[2], pads[3]))


def _pooled(graph: Importing, x: Operand, kind: str, pool: Window) -> Operand:
    inputs: list[Any] = [x, *pool.sides, *pool.steps, *reversed(pool.kernel), NONE]
    return graph.make(kind, inputs)


def _padded(graph: Importing, x: Operand, pads: tuple[int, int, int, int]) -> Operand:
    top, left, bottom, right = pads
    pairs = np.array([(0, 0), (top, bottom), (left, right), (0, 0)], np.int32)
    return graph.make("PAD", [x, pairs])


def _max_pool(graph: Importing, node: Node) -> None:
    item = graph.typed(node, *FLOATS, *BYTES)
    graph.require_unread(node, 1, "the positions of the maxima")
    x = image_of(graph, node.inputs[0])
    result = _pooled(graph, x, "MAX_POOL_2D", _window(node, x.dimensions[1:3]))
    give_image(graph, node, result, item.type, item.rank)


def _average_pool(graph: Importing, node: Node) -> None:
    """AveragePool; pads that are counted are zeros of the image."""
    item = graph.typed(node, *FLOATS)
    x = image_of(graph, node.inputs[0])
    pool = _window(node, x.dimensions[1:3])
    if node.attributes.get("count_include_pad", 0) and any(pool.pads):
        own = window(node, tuple(node.attributes.get("kernel_shape", ())), x.dimensions[1:3]).pads
        x = _padded(graph, x, own)
        rest = tuple(max(n - m, 0) for n, m in zip(pool.pads, own, strict=True))
        pool = pool._replace(pads=(rest[0], rest[1], rest[2], rest[3]))
    result = _pooled(graph, x, "AVERAGE_POOL_2D", pool)
    give_image(graph, node, result, item.type, item.rank)


def _over_image(kind: str) -> Lowering:
    """The mean or maximum of all of an image."""

    def lower(graph: Importing, node: Node) -> None:
        item = graph.typed(node, *FLOATS, *(BYTES if kind == "REDUCE_MAX" else ()))
        if item.rank > 4:
            n, depth, *rest = item.shape
            operand = graph.reshaped(graph.elements(node.inputs[0]), (n, depth, int(np.prod(rest))))
            result = Math(graph).reduced(kind, operand, [2])
            shape = (n, depth, *[1] * len(rest))
            graph.give(node, result, item.type, shape)
            return
        x = image_of(graph, node.inputs[0])
        result = Math(graph).reduced(kind, x, [1, 2])
        give_image(graph, node, result, item.type, item.rank)

    return lower


def _lp_pool(graph: Importing, node: Node) -> None:
    """LpPool with p = 2: the root of the mean of squares times the elements of the window."""
    item = graph.value(node.inputs[0])
    if int(node.attributes.get("p", 2)) != 2 or item.type not in FLOATS:
        raise reason("p is not 2", "import.onnx.attribute")
    x = image_of(graph, node.inputs[0])
    pool = _window(node, x.dimensions[1:3])
    if any(pool.pads):
        x = _padded(graph, x, pool.pads)
    pooled = _pooled(graph, x, "L2_POOL_2D", pool._replace(pads=(0, 0, 0, 0)))
    count = float(pool.kernel[0] * pool.kernel[1]) ** 0.5
    give_image(graph, node, Math(graph).mul(pooled, count), item.type, item.rank)


LOWERINGS: dict[str, Lowering] = {
    "AveragePool": _average_pool,
    "GlobalAveragePool": _over_image("MEAN"),
    "GlobalMaxPool": _over_image("REDUCE_MAX"),
    "LpPool": _lp_pool,
    "MaxPool": _max_pool,
}
