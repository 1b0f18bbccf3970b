"""Element-wise operands of one layout: broadcasting, channels last, ranks above 4."""

import math
from collections.abc import Callable, Sequence

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.merging import alike
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.graph import MOST_RANK, Importing
from nnapi_shim.formats.onnx.importing.value import LAST, Value, picked
from nnapi_shim.operations.shapes import broadcast

Lowering = Callable[[Importing, Node], None]
"""Adds the operations of a node. Raises BAD_DATA with the reason if it cannot."""


class Aligned:
    """Operands that NNAPI broadcasts as the graph does, and how the result is stored."""

    def __init__(self, graph: Importing, names: Sequence[str]) -> None:
        values = [graph.value(name) for name in names]
        self.shape = common(*(item.shape for item in values))
        self.is_last = len(self.shape) == 4 and any(item.is_last for item in values)
        self.sizes = self.shape
        """Dimensions of the operation's output."""
        if len(self.shape) > MOST_RANK and _are_whole(values, self.shape):
            self.operands = [
                graph.operand(item.name) if item.operand is None else item.operand
                for item in values
            ]
        elif len(self.shape) > MOST_RANK:
            groups = merged([item.shape for item in values], self.shape)
            self.sizes = _grouped(self.shape, groups)
            self.operands = [_merged(graph, item, self.shape, groups) for item in values]
        elif self.is_last:
            self.sizes = picked(self.shape, LAST)
            self.operands = [_last(graph, item) for item in values]
        else:
            self.operands = [graph.operand(name) for name in names]

    def give(self, graph: Importing, node: Node, operand: Operand, type: str) -> None:
        """Make the result the output of a node."""
        graph.give(node, operand, type, self.shape, is_last=self.is_last)


def _are_whole(values: Sequence[Value], shape: tuple[int, ...]) -> bool:
    """Whether operands of a high rank, such as inputs of the model, have all their dimensions."""
    computed = [item for item in values if item.operand is not None]
    others = [item for item in values if item.operand is None]
    return all(item.operand and item.operand.dimensions == shape for item in computed) and all(
        math.prod(item.shape) == 1 and item.rank <= MOST_RANK for item in others
    )


def common(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The broadcast shape."""
    return tuple(broadcast(*shapes))


def _last(graph: Importing, item: Value) -> Operand:
    if math.prod(item.shape) == 1:
        return graph.operand(item.name)
    if item.rank == 4:
        return graph.image(item.name)
    shape = (1,) * (4 - item.rank) + item.shape
    if item.array is not None:
        array = item.array.reshape(shape).transpose(LAST)
        return graph.constant_operand(item._replace(array=array, shape=array.shape))
    return graph.moved(graph.reshaped(graph.operand(item.name), shape), LAST)


def merged(shapes: Sequence[tuple[int, ...]], shape: tuple[int, ...]) -> list[list[int]]:
    """Neighbouring axes in which each tensor is whole, or has size 1."""
    patterns = [
        None if size == 1 else tuple(_size(own, axis - len(shape)) == size for own in shapes)
        for axis, size in enumerate(shape)
    ]
    last = next(filter(None, patterns), None)  # dimensions of size 1 go with those before them
    return alike([last := pattern or last for pattern in patterns])


def _size(shape: tuple[int, ...], axis: int) -> int:
    return shape[axis] if -axis <= len(shape) else 1


def _grouped(shape: tuple[int, ...], groups: list[list[int]]) -> tuple[int, ...]:
    sizes = tuple(math.prod(shape[axis] for axis in group) for group in groups)
    if len(sizes) > MOST_RANK:
        raise reason(
            f"its {len(shape)} dimensions are {len(sizes)} when merged; NNAPI takes {MOST_RANK}",
            "import.onnx.rank",
        )
    return sizes


def _merged(
    graph: Importing, item: Value, shape: tuple[int, ...], groups: list[list[int]]
) -> Operand:
    own = (1,) * (len(shape) - item.rank) + item.shape
    sizes = tuple(math.prod(own[axis] for axis in group) for group in groups)
    if len(sizes) > MOST_RANK:
        _grouped(shape, groups)
    if item.array is not None:
        return graph.constant_operand(item._replace(array=item.array.reshape(sizes), shape=sizes))
    return graph.reshaped(graph.elements(item.name), sizes)
