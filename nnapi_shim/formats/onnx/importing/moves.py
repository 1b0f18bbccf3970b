"""Operators that move elements: shapes, transpositions, joining."""

import math
from typing import Any

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.merging import runs
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.elementwise import Aligned, Lowering, common, merged
from nnapi_shim.formats.onnx.importing.graph import MOST_RANK, Importing
from nnapi_shim.formats.onnx.importing.value import BYTES, FIRST, LAST, picked


def axis_of(node: Node, rank: int, default: int = 0, name: str = "axis") -> int:
    """A normalised axis."""
    axis = int(node.attributes.get(name, default))
    return checked_axis(axis, rank)


def checked_axis(axis: int, rank: int) -> int:
    """An axis counted from 0."""
    if not -rank <= axis < max(rank, 1):
        raise reason(f"axis {axis}; its input has {rank} dimensions", "import.onnx.axis")
    return axis % max(rank, 1)


def axes_of(graph: Importing, node: Node, at: int, rank: int) -> list[int] | None:
    """The axes of an attribute, or of an input in newer opsets; None without."""
    if graph.has(node, at):
        axes = graph.numbers(node.inputs[at], "its axes")
    elif "axes" in node.attributes:
        axes = list(node.attributes["axes"])
    else:
        return None
    return sorted({checked_axis(axis, rank) for axis in axes})


def reshape_to(graph: Importing, node: Node, shape: tuple[int, ...]) -> None:
    """Give the input the dimensions of the output."""
    item = graph.value(node.inputs[0])
    if math.prod(shape) != math.prod(item.shape):
        raise reason(f"{list(item.shape)} cannot become {list(shape)}", "import.onnx.reshape.size")
    graph.give_elements(node, graph.elements(node.inputs[0]), item.type, shape)


def _reshape(graph: Importing, node: Node) -> None:
    own = graph.value(node.inputs[0]).shape
    if "shape" in node.attributes:
        sizes = list(node.attributes["shape"])
    else:
        sizes = graph.numbers(node.inputs[1], "its shape")
    reshape_to(graph, node, target_shape(own, sizes, bool(node.attributes.get("allowzero", 0))))


def target_shape(own: tuple[int, ...], sizes: list[int], allow_zero: bool) -> tuple[int, ...]:
    """The dimensions that Reshape's input asks for."""
    if not allow_zero:
        if any(size == 0 and at >= len(own) for at, size in enumerate(sizes)):
            raise reason(f"shape {sizes} for {list(own)}", "import.onnx.reshape.size")
        sizes = [own[at] if size == 0 else size for at, size in enumerate(sizes)]
    if sizes.count(-1) > 1 or any(size < -1 for size in sizes):
        raise reason(f"shape {sizes}", "import.onnx.reshape.size")
    if -1 in sizes:
        rest = math.prod(size for size in sizes if size != -1)
        total = math.prod(own)
        if not rest or total % rest:
            raise reason(f"shape {sizes} for {list(own)}", "import.onnx.reshape.size")
        sizes = [total // rest if size == -1 else size for size in sizes]
    return tuple(sizes)


def _flatten(graph: Importing, node: Node) -> None:
    shape = graph.value(node.inputs[0]).shape
    axis = int(node.attributes.get("axis", 1))
    if not -len(shape) <= axis <= len(shape):
        raise reason(f"axis {axis}; its input has {len(shape)} dimensions", "import.onnx.axis")
    axis = axis + len(shape) if axis < 0 else axis
    reshape_to(graph, node, (math.prod(shape[:axis]), math.prod(shape[axis:])))


def _squeeze(graph: Importing, node: Node) -> None:
    shape = graph.value(node.inputs[0]).shape
    axes = axes_of(graph, node, 1, len(shape))
    if axes is None:
        axes = [axis for axis, size in enumerate(shape) if size == 1]
    if any(shape[axis] != 1 for axis in axes):
        raise reason(f"axes {axes} of {list(shape)} are not all 1", "import.onnx.squeeze")
    reshape_to(graph, node, tuple(n for axis, n in enumerate(shape) if axis not in axes))


def _unsqueeze(graph: Importing, node: Node) -> None:
    shape = graph.value(node.inputs[0]).shape
    if graph.has(node, 1):
        axes = graph.numbers(node.inputs[1], "its axes")
    else:
        axes = list(node.attributes.get("axes", ()))
    rank = len(shape) + len(axes)
    new = {checked_axis(axis, rank) for axis in axes}
    if len(new) < len(axes):
        raise reason(f"axes {axes}", "import.onnx.axis")
    rest = iter(shape)
    reshape_to(graph, node, tuple(1 if axis in new else next(rest) for axis in range(rank)))


def _transpose(graph: Importing, node: Node) -> None:
    """Transpose; images change their layout without an operation."""
    item = graph.value(node.inputs[0])
    perm = tuple(node.attributes.get("perm", reversed(range(item.rank))))
    if sorted(perm) != list(range(item.rank)):
        raise reason(f"perm {list(perm)} for {item.rank} dimensions", "import.onnx.perm")
    shape = picked(item.shape, perm)
    if item.operand is not None and perm == LAST and item.is_last:
        graph.give(node, item.operand, item.type, shape)
    elif item.operand is not None and perm == FIRST and not item.is_last:
        graph.give(node, item.operand, item.type, shape, is_last=True)
    elif item.rank <= MOST_RANK:
        graph.give(node, permuted(graph, graph.operand(node.inputs[0]), perm), item.type, shape)
    else:
        operand, groups = _merged_for(graph, node.inputs[0], perm)
        graph.give(node, permuted(graph, operand, groups), item.type, shape)


def permuted(graph: Importing, operand: Operand, perm: tuple[int, ...]) -> Operand:
    """A transposition; of types that NNAPI does not transpose by GATHER."""
    kind = operand.type.name
    if kind == "TENSOR_BOOL8":
        from nnapi_shim.formats.onnx.importing.conversion import from_bool

        numbers = permuted(graph, from_bool(graph, operand, "INT32"), perm)
        return graph.make("NOT_EQUAL", [numbers, np.zeros(1, np.int32)])
    if kind != "TENSOR_INT32" or len(perm) < 2:
        return graph.moved(operand, perm)
    sizes = operand.dimensions
    count = math.prod(sizes)
    graph.room.take(12 * count, "the order of a transposition")
    order = np.arange(count, dtype=np.int32).reshape(sizes).transpose(perm)
    return gathered(graph, operand, order)


def gathered(graph: Importing, operand: Operand, order: Any) -> Operand:
    """The elements at constant positions of the flat operand, in the shape of `order`."""
    flat = graph.reshaped(operand, (math.prod(operand.dimensions),))
    index = np.ascontiguousarray(order.reshape(-1), np.int32)
    result = graph.make("GATHER", [flat, 0, index])
    return result if order.ndim > MOST_RANK else graph.reshaped(result, order.shape)


def _merged_for(
    graph: Importing, name: str, perm: tuple[int, ...]
) -> tuple[Operand, tuple[int, ...]]:
    """The operand with axes merged that stay neighbours, and the permutation of the groups."""
    item = graph.value(name)
    order = [axis for axis in range(item.rank) if item.shape[axis] != 1]
    moved = runs([order.index(axis) for axis in perm if item.shape[axis] != 1])
    groups = [[order[at] for at in run] for run in moved]
    if len(groups) > MOST_RANK:
        raise reason(
            f"it moves {len(groups)} groups of dimensions; NNAPI's TRANSPOSE takes {MOST_RANK}",
            "import.onnx.rank",
        )
    stored = sorted(groups)
    sizes = tuple(math.prod(item.shape[axis] for axis in group) for group in stored)
    operand = graph.reshaped(graph.elements(name), sizes)
    return operand, tuple(stored.index(group) for group in groups) or (0,)


def _concat(graph: Importing, node: Node) -> None:
    items = [graph.value(name) for name in node.inputs]
    axis = axis_of(node, items[0].rank, 1)
    type = items[0].type
    if any(item.type != type for item in items):
        raise reason("its inputs have different types", "import.onnx.types-differ")
    shape = list(items[0].shape)
    shape[axis] = sum(item.shape[axis] for item in items)
    for item in items:
        rest = (*item.shape[:axis], 0, *item.shape[axis + 1 :])
        if rest != (*shape[:axis], 0, *shape[axis + 1 :]):
            raise reason("its inputs have different dimensions", "import.onnx.concat.dimensions")
    if len(items) == 1:
        graph.alias(node, node.inputs[0])
        return
    items = [item for item in items if item.shape[axis]]
    is_last = len(shape) == 4 and any(item.is_last for item in items)
    if is_last:
        operands, at = [graph.image(item.name) for item in items], LAST.index(axis)
    else:
        parts = [graph.along(item.name, axis) for item in items]
        operands, at = [operand for operand, _, _ in parts], parts[0][1]
    options: dict[str, Any] = {}
    if type in BYTES:
        one = operands[0]
        operands = [graph.raw(operand, one.scale, one.zero_point) for operand in operands]
        options = {"scale": one.scale, "zero_point": one.zero_point}
    elif type in ("INT32", "INT64"):
        graph.give(node, _packed(graph, operands, at), type, shape, is_last=is_last)
        return
    elif type not in ("FLOAT", "FLOAT16"):
        raise reason(f"NNAPI does not concatenate {type}", "import.onnx.concat.type")
    result = graph.make("CONCATENATION", [*operands, at], **options)
    graph.give(node, result, type, shape, is_last=is_last)


MOST_PARTS = 256
"""The most slices of integers that are joined one by one."""


def _packed(graph: Importing, operands: list[Operand], axis: int) -> Operand:
    """Integers joined by PACK: NNAPI's CONCATENATION does not take them."""
    sizes = [operand.dimensions[axis] for operand in operands]
    if sum(sizes) > MOST_PARTS:
        raise reason(f"it joins {sum(sizes)} slices of integers", "import.onnx.concat.size")
    own = operands[0].dimensions
    shape = (*own[:axis], sum(sizes), *own[axis + 1 :])
    pre, post = math.prod(own[:axis]), math.prod(own[axis + 1 :])
    slices: list[Operand] = []
    for operand, size in zip(operands, sizes, strict=True):
        flat = graph.reshaped(operand, (pre, size, post))
        parts = [flat]
        if size > 1:
            parts = list(graph.several("SPLIT", [flat, 1, size], output_count=size))
        slices += [graph.reshaped(part, (pre, post)) for part in parts]
    return graph.reshaped(graph.make("PACK", [1, *slices]), shape)


def _expand(graph: Importing, node: Node) -> None:
    item = graph.value(node.inputs[0])
    sizes = tuple(graph.numbers(node.inputs[1], "its shape"))
    shape = common(item.shape, sizes)
    if shape == item.shape:
        graph.alias(node, node.inputs[0])
        return
    if len(shape) > MOST_RANK:
        groups = merged([item.shape], shape)
        own = (1,) * (len(shape) - item.rank) + item.shape
        sizes = tuple(math.prod(own[axis] for axis in group) for group in groups)
        target = tuple(math.prod(shape[axis] for axis in group) for group in groups)
        if len(target) > MOST_RANK:
            raise reason(f"its result has {len(shape)} dimensions", "import.onnx.rank")
        operand = graph.reshaped(graph.elements(node.inputs[0]), sizes)
        graph.give(node, graph.broadcast(operand, target), item.type, shape)
        return
    operand = graph.operand(node.inputs[0])
    graph.give(node, graph.broadcast(operand, shape), item.type, shape)


def _tile(graph: Importing, node: Node) -> None:
    item = graph.value(node.inputs[0])
    multiples = graph.numbers(node.inputs[1], "its repeats")
    if len(multiples) != item.rank or any(number < 1 for number in multiples):
        raise reason(f"repeats {multiples} of {list(item.shape)}", "import.onnx.tile")
    operand = graph.operand(node.inputs[0])
    if item.rank:
        operand = graph.make("TILE", [operand, np.array(multiples, np.int32)])
    graph.give(node, operand, item.type)


def _block(node: Node) -> tuple[int, bool]:
    """The block size, and whether the mode is CRD and not DCR."""
    mode = node.attributes.get("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        raise reason(f"mode {mode!r}", "import.onnx.attribute")
    return int(node.attributes.get("blocksize", 0)), mode == "CRD"


def _depth_to_space(graph: Importing, node: Node) -> None:
    """DepthToSpace; mode CRD reorders the channels first."""
    item = graph.value(node.inputs[0])
    block, is_by_column = _block(node)
    operand, depth = graph.image(node.inputs[0]), item.shape[1]
    if block < 1 or depth % block**2:
        raise reason(f"blocks of {block} for {depth} channels", "import.onnx.block-size")
    if is_by_column:
        order = np.arange(depth, dtype=np.int32).reshape(-1, block * block).T.reshape(-1)
        operand = graph.make("GATHER", [operand, 3, np.ascontiguousarray(order)])
    graph.give(node, graph.make("DEPTH_TO_SPACE", [operand, block]), item.type, is_last=True)


def _space_to_depth(graph: Importing, node: Node) -> None:
    item = graph.value(node.inputs[0])
    block, is_by_column = _block(node)
    result = graph.make("SPACE_TO_DEPTH", [graph.image(node.inputs[0]), block])
    if is_by_column:
        depth = item.shape[1]
        order = np.arange(depth * block**2, dtype=np.int32).reshape(-1, depth).T.reshape(-1)
        result = graph.make("GATHER", [result, 3, np.ascontiguousarray(order)])
    graph.give(node, result, item.type, is_last=True)


def _triangle(graph: Importing, node: Node) -> None:
    """Trilu with a constant diagonal."""
    item = graph.value(node.inputs[0])
    k = graph.numbers(node.inputs[1], "k")[0] if graph.has(node, 1) else 0
    rows, columns = item.shape[-2:]
    graph.room.take(rows * columns, "the mask of a triangle")
    mask = np.tri(rows, columns, k if not node.attributes.get("upper", 1) else k - 1, bool)
    keep = mask if not node.attributes.get("upper", 1) else ~mask
    if item.type not in ("FLOAT", "INT32", "INT64"):
        raise reason(f"its input is {item.type}", "import.onnx.type")
    zero = np.zeros(1, np.float32 if item.type == "FLOAT" else np.int32)
    aligned = Aligned(graph, [graph.folded(keep), node.inputs[0], graph.folded(zero)])
    operands = [graph.broadcast(operand, aligned.sizes) for operand in aligned.operands]
    aligned.give(graph, node, graph.make("SELECT", operands), item.type)


LOWERINGS: dict[str, Lowering] = {
    "Concat": _concat,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "SpaceToDepth": _space_to_depth,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": _triangle,
    "Unsqueeze": _unsqueeze,
}
