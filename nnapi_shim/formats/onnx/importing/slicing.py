"""Slices, parts, positions and padding."""

import math
from typing import Any

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.elementwise import Lowering
from nnapi_shim.formats.onnx.importing.graph import MOST_RANK, Importing
from nnapi_shim.formats.onnx.importing.moves import axis_of, checked_axis, gathered
from nnapi_shim.formats.onnx.importing.value import BYTES, FLOATS, LAST

Ranges = list[tuple[int, int, int]]
"""Start, count and step of each axis."""


def ranges_of(graph: Importing, node: Node, shape: tuple[int, ...]) -> Ranges:
    """What Slice takes of each axis."""
    if graph.opset < 10:
        starts, ends = (list(node.attributes[name]) for name in ("starts", "ends"))
    else:
        starts, ends = (graph.numbers(node.inputs[at], "a bound") for at in (1, 2))
    axes, steps = list(range(len(starts))), [1] * len(starts)
    if graph.opset < 10:
        axes = list(node.attributes.get("axes", axes))
    elif graph.has(node, 3):
        axes = graph.numbers(node.inputs[3], "its axes")
    if graph.opset >= 10 and graph.has(node, 4):
        steps = graph.numbers(node.inputs[4], "its steps")
    ranges = [(0, size, 1) for size in shape]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        at = checked_axis(axis, len(shape))
        if not step:
            raise reason("a step is 0", "import.onnx.slice.step")
        first, last, step = slice(start, end, step).indices(shape[at])
        ranges[at] = (first, len(range(first, last, step)), step)
    return ranges


def _slice(graph: Importing, node: Node) -> None:
    item = graph.value(node.inputs[0])
    ranges = ranges_of(graph, node, item.shape)
    shape = tuple(count for _, count, _ in ranges)
    if shape == item.shape and all(step == 1 for _, _, step in ranges):
        graph.alias(node, node.inputs[0])
        return
    if 0 in shape:
        raise reason("its result has no elements", "import.onnx.empty")
    operand, is_last = graph.stored(node.inputs[0])
    if is_last:
        ranges = [ranges[axis] for axis in LAST]
    graph.give(node, sliced(graph, operand, ranges), item.type, shape, is_last=is_last)


def sliced(graph: Importing, operand: Operand, ranges: Ranges) -> Operand:
    """A part of an operand."""
    if operand.type.name == "TENSOR_BOOL8":
        raise reason("NNAPI does not slice booleans", "import.onnx.slice.bool")
    if all(step == 1 for _, _, step in ranges):
        begin, size = ([r[at] for r in ranges] for at in (0, 1))
        return graph.part(operand, begin, size, **_scale(operand))
    if operand.type.name == "TENSOR_INT32":
        for axis, (first, count, step) in enumerate(ranges):
            if (first, count, step) != (0, operand.dimensions[axis], 1):
                index = np.arange(first, first + count * step, step, dtype=np.int32)
                operand = graph.make("GATHER", [operand, axis, index])
        return operand
    end_mask = 0
    ends = []
    for axis, (first, count, step) in enumerate(ranges):
        end = first + count * step
        if end < 0:
            end_mask |= 1 << axis
        ends.append(max(end, 0))
    begin, steps = ([r[at] for r in ranges] for at in (0, 2))
    inputs: list[Any] = [graph.sizes(numbers) for numbers in (begin, ends, steps)]
    return graph.make("STRIDED_SLICE", [operand, *inputs, 0, end_mask, 0])


def _scale(operand: Operand) -> dict[str, Any]:
    return {"scale": operand.scale, "zero_point": operand.zero_point} if operand.scale else {}


def _split(graph: Importing, node: Node) -> None:
    item = graph.value(node.inputs[0])
    axis = axis_of(node, item.rank)
    total, count = item.shape[axis], len(node.outputs)
    if graph.has(node, 1):
        parts = graph.numbers(node.inputs[1], "its parts")
    elif "split" in node.attributes:
        parts = list(node.attributes["split"])
    else:
        each = -(-total // count)
        parts = [max(min(each, total - at * each), 0) for at in range(count)]
    if len(parts) != count or sum(parts) != total or min(parts) < 1:
        raise reason(f"parts {parts} of {total}", "import.onnx.split")
    operand, at, is_last = graph.along(node.inputs[0], axis)
    outputs: list[Operand] = []
    if len(set(parts)) == 1 and count > 1:
        outputs += graph.several("SPLIT", [operand, at, count], output_count=count)
    start = 0
    for part in parts[len(outputs) :]:
        ranges = [(0, size, 1) for size in operand.dimensions]
        ranges[at] = (start, part, 1)
        outputs.append(sliced(graph, operand, ranges))
        start += part
    for number, (output, part) in enumerate(zip(outputs, parts, strict=True)):
        shape = (*item.shape[:axis], part, *item.shape[axis + 1 :])
        graph.give(node, output, item.type, shape, at=number, is_last=is_last)


def _gather(graph: Importing, node: Node) -> None:
    """Gather; computed negative indices make the run fail, as NNAPI's GATHER takes none."""
    item = graph.value(node.inputs[0])
    axis = axis_of(node, item.rank)
    index = graph.value(node.inputs[1])
    if item.type == "BOOL":
        raise reason("NNAPI does not gather booleans", "import.onnx.gather.bool")
    size = item.shape[axis]
    shape = (*item.shape[:axis], *index.shape, *item.shape[axis + 1 :])
    positions: Any
    if index.array is not None:
        if ((index.array < -size) | (index.array >= size)).any():
            raise reason("an index is out of range", "import.onnx.gather.index")
        positions = np.where(index.array < 0, index.array + size, index.array)
        positions = np.ascontiguousarray(positions.reshape(-1), np.int32)
        if not positions.size:
            raise reason("its result has no elements", "import.onnx.empty")
    else:
        if index.type not in ("INT32", "INT64"):
            raise reason(f"its indices are {index.type}", "import.onnx.type")
        count = math.prod(index.shape)
        positions = graph.reshaped(graph.elements(node.inputs[1]), (count,))
    if item.rank > MOST_RANK:
        operand, at, _ = graph.along(node.inputs[0], axis)
    else:
        operand, at = graph.operand(node.inputs[0]), axis
    result = graph.make("GATHER", [operand, at, positions])
    graph.give_elements(node, result, item.type, shape)


def _gather_elements(graph: Importing, node: Node) -> None:
    """GatherElements with constant indices."""
    item = graph.value(node.inputs[0])
    axis = axis_of(node, item.rank)
    index = graph.constant(node.inputs[1], "its index")
    graph.room.take(24 * index.size, "positions")
    grid: list[Any] = list(np.indices(index.shape))
    grid[axis] = np.where(index < 0, index + item.shape[axis], index)
    order = np.ravel_multi_index(tuple(grid), item.shape)
    graph.give(node, gathered(graph, graph.elements(node.inputs[0]), order), item.type, index.shape)


def _gather_nd(graph: Importing, node: Node) -> None:
    """GatherND with constant indices."""
    item = graph.value(node.inputs[0])
    if node.attributes.get("batch_dims", 0):
        raise reason("it has batch dimensions", "import.onnx.gather-nd.batch")
    index = graph.constant(node.inputs[1], "its index").astype(np.int64)
    depth = index.shape[-1]
    lead = item.shape[:depth]
    rest = item.shape[depth:]
    flat = np.ravel_multi_index(
        tuple(
            np.where(index[..., at] < 0, index[..., at] + n, index[..., at])
            for at, n in enumerate(lead)
        ),
        lead,
    )
    operand = graph.reshaped(graph.elements(node.inputs[0]), (math.prod(lead), math.prod(rest)))
    positions = np.ascontiguousarray(flat.reshape(-1), np.int32)
    shape = (*index.shape[:-1], *rest)
    graph.give_elements(node, graph.make("GATHER", [operand, 0, positions]), item.type, shape)


def _pad(graph: Importing, node: Node) -> None:
    item = graph.value(node.inputs[0])
    value: Any = 0
    if graph.opset < 11:
        pads = list(node.attributes.get("pads", node.attributes.get("paddings", ())))
        value = node.attributes.get("value", 0.0)
    else:
        pads = graph.numbers(node.inputs[1], "its pads")
        if graph.has(node, 2):
            value = graph.constant(node.inputs[2], "its value").reshape(-1)[0].item()
    axes = list(range(item.rank))
    if graph.has(node, 3):
        axes = [checked_axis(a, item.rank) for a in graph.numbers(node.inputs[3], "its axes")]
    if len(pads) != 2 * len(axes):
        raise reason(f"{len(pads)} pads for {len(axes)} axes", "import.onnx.pad.count")
    pairs = [(0, 0)] * item.rank
    for at, axis in enumerate(axes):
        pairs[axis] = (pads[at], pads[at + len(axes)])
    operand, is_last = graph.stored(node.inputs[0])
    stored = [pairs[axis] for axis in LAST] if is_last else pairs
    shape = tuple(n + a + b for n, (a, b) in zip(item.shape, pairs, strict=True))
    if min(shape, default=1) < 1:
        raise reason("its result has no elements", "import.onnx.empty")
    mode = node.attributes.get("mode", "constant")
    if mode == "constant":
        result = padded(graph, operand, stored, value, item.type)
    else:
        result = _repeated(graph, operand, stored, mode)
    graph.give(node, result, item.type, shape, is_last=is_last)


def padded(
    graph: Importing, operand: Operand, pairs: list[tuple[int, int]], value: Any, type: str
) -> Operand:
    """Padding with a constant; negative pads cut."""
    if any(min(pair) < 0 for pair in pairs):
        ranges = [
            (max(-a, 0), n + min(a, 0) + min(b, 0), 1)
            for n, (a, b) in zip(operand.dimensions, pairs, strict=True)
        ]
        operand = sliced(graph, operand, ranges)
        pairs = [(max(a, 0), max(b, 0)) for a, b in pairs]
    if not any(a or b for a, b in pairs):
        return operand
    if type not in (*BYTES, *FLOATS):
        raise reason(f"NNAPI does not pad {type}", "import.onnx.pad.type")
    fill = int(value) if type in BYTES else float(value)
    return graph.make("PAD_V2", [operand, np.array(pairs, np.int32), fill])


def _repeated(
    graph: Importing, operand: Operand, pairs: list[tuple[int, int]], mode: str
) -> Operand:
    """Padding with elements of the tensor, gathered axis by axis."""
    if mode not in ("reflect", "edge", "wrap"):
        raise reason(f"mode {mode!r}", "import.onnx.pad.mode")
    if operand.type.name == "TENSOR_BOOL8":
        raise reason("NNAPI does not gather booleans", "import.onnx.gather.bool")
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            size = operand.dimensions[axis]
            cut = slice(max(-before, 0), size - max(-after, 0))
            positions = graph.room.counted(size, np.int32, "positions")[cut]
            extra = (max(before, 0), max(after, 0))
            graph.room.take(4 * sum(extra), "positions")
            index: Any = np.pad(positions, extra, mode=mode)  # type: ignore[call-overload]
            operand = graph.make("GATHER", [operand, axis, index.astype(np.int32)])
    return operand


LOWERINGS: dict[str, Lowering] = {
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "Pad": _pad,
    "Slice": _slice,
    "Split": _split,
}
