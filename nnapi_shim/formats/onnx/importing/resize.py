"""Resize and Upsample: NNAPI's operations, or positions and weights along each axis."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.math import Math
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.elementwise import Lowering
from nnapi_shim.formats.onnx.importing.graph import Importing
from nnapi_shim.formats.onnx.importing.value import FLOATS, LAST, Value

MODES = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric")


def _resize(graph: Importing, node: Node) -> None:
    item = graph.value(node.inputs[0])
    if item.type not in FLOATS:
        raise reason(f"its input is {item.type}", "import.onnx.type")
    options = node.attributes
    old = graph.opset < 11 or node.kind == "Upsample"
    default = "asymmetric" if old else "half_pixel"
    coordinates = options.get("coordinate_transformation_mode", default)
    policy = options.get("keep_aspect_ratio_policy", "stretch")
    if coordinates not in MODES or policy != "stretch" or options.get("antialias", 0):
        raise reason(f"{coordinates}, {policy}, antialias", "import.onnx.resize.mode")
    sizes, scales = _sizes(graph, node, item, old)
    mode = options.get("mode", "nearest")
    if mode not in ("nearest", "linear", "bilinear"):
        raise reason(f"mode {mode!r}", "import.onnx.resize.mode")
    axes = [axis for axis in range(item.rank) if sizes[axis] != item.shape[axis]]
    image = item.rank == 4 and (item.is_last or axes == [2, 3])
    x = graph.image(item.name) if image else graph.operand(item.name)
    if (
        image
        and axes == [2, 3]
        and mode != "nearest"
        and _is_native(item, sizes, scales, coordinates)
    ):
        flags = [coordinates == "align_corners", coordinates == "half_pixel"]
        x = graph.make("RESIZE_BILINEAR", [x, sizes[3], sizes[2], False, *flags])
        axes = []
    nearest = "floor" if old else options.get("nearest_mode", "round_prefer_floor")
    for axis in axes:
        at = LAST.index(axis) if image else axis
        where = _coordinates(item.shape[axis], sizes[axis], scales[axis], coordinates)
        if mode == "nearest":
            x = _nearest(graph, x, at, where, nearest)
        else:
            x = _linear(graph, x, at, where)
    if x is item.operand:
        graph.alias(node, node.inputs[0])
        return
    graph.give(node, x, item.type, sizes, is_last=image)


def _sizes(
    graph: Importing, node: Node, item: Value, old: bool
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The size and the factor of each axis."""
    axes = list(node.attributes.get("axes", range(item.rank)))
    at = 1 if old else 2
    scales = [1.0] * item.rank
    sizes = list(item.shape)
    if "scales" in node.attributes:
        numbers = list(node.attributes["scales"])
    elif graph.has(node, at) and graph.value(node.inputs[at]).shape != (0,):
        numbers = graph.constant(node.inputs[at], "its scales").reshape(-1).tolist()
    else:
        wanted = graph.numbers(node.inputs[3], "its sizes")
        for axis, size in zip(axes, wanted, strict=True):
            sizes[axis], scales[axis] = size, size / item.shape[axis]
        return _checked(sizes), tuple(scales)
    for axis, number in zip(axes, numbers, strict=True):
        if not 0 < number < 2**20:
            raise reason(f"scale {number}", "import.onnx.resize.scale")
        scales[axis], sizes[axis] = float(number), math.floor(item.shape[axis] * number)
    return _checked(sizes), tuple(scales)


def _checked(sizes: list[int]) -> tuple[int, ...]:
    if any(not 0 < size < 2**20 for size in sizes):
        raise reason(f"sizes {sizes}", "import.onnx.resize.sizes")
    return tuple(sizes)


def _is_native(
    item: Value, sizes: Sequence[int], scales: Sequence[float], coordinates: str
) -> bool:
    """Whether RESIZE_BILINEAR takes the same pixels: it has the ratio of the sizes as its scale."""
    same = all(abs(item.shape[a] * scales[a] - sizes[a]) < 1e-6 for a in (2, 3))
    return same and coordinates in ("half_pixel", "asymmetric", "align_corners")


def _coordinates(old: int, new: int, scale: float, mode: str) -> Any:
    at = np.arange(new, dtype=np.float64)
    if mode == "align_corners":
        return at * (old - 1) / (scale * old - 1) if scale * old != 1 else at * 0
    if mode == "asymmetric":
        return at / scale
    if mode == "pytorch_half_pixel" and new == 1:
        return np.zeros(1)
    moved = (at + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        adjustment = new / (scale * old)
        return old / 2 * (1 - adjustment) + moved
    return moved


def _nearest(graph: Importing, x: Operand, axis: int, where: Any, mode: str) -> Operand:
    roundings: dict[str, Callable[[Any], Any]] = {
        "floor": np.floor,
        "ceil": np.ceil,
        "round_prefer_floor": lambda v: np.ceil(v - 0.5),
        "round_prefer_ceil": lambda v: np.floor(v + 0.5),
    }
    if mode not in roundings:
        raise reason(f"nearest_mode {mode!r}", "import.onnx.resize.mode")
    index = np.clip(roundings[mode](where), 0, x.dimensions[axis] - 1).astype(np.int32)
    return graph.make("GATHER", [x, axis, index])


def _linear(graph: Importing, x: Operand, axis: int, where: Any) -> Operand:
    """The weighted sum of two neighbours."""
    m = Math(graph)
    last = x.dimensions[axis] - 1
    where = np.clip(where, 0, last)
    below = np.minimum(np.floor(where), max(last - 1, 0)).astype(np.int32)
    weight = (where - below).astype(np.float16 if x.type.name.endswith("16") else np.float32)
    shape = [1] * len(x.dimensions)
    shape[axis] = weight.size
    parts = []
    for index, factor in ((below, 1 - weight), (np.minimum(below + 1, last), weight)):
        taken = graph.make("GATHER", [x, axis, index.astype(np.int32)])
        parts.append(m.mul(taken, factor.reshape(shape)))
    return m.add(*parts)


LOWERINGS: dict[str, Lowering] = {"Resize": _resize, "Upsample": _resize}
