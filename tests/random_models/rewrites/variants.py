"""The same model with something changed: what a pass that acts on it has to see.

Each is a graph of its own, which has to give the same with a pass and without it.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.operations import operation
from nnapi_shim.operations.declare import declared
from tests.operations.plans.common import Random
from tests.random_models.edges import EDGES, with_edges
from tests.random_models.graph import COMPUTED, Graph, Item, Node
from tests.single import CONSTANT, INPUT, Value

READERS = {
    T.TENSOR_FLOAT32: O.NEG,
    T.TENSOR_FLOAT16: O.NEG,
    T.TENSOR_INT32: O.NEG,
    T.TENSOR_QUANT8_ASYMM: O.RELU,
    T.TENSOR_QUANT8_ASYMM_SIGNED: O.RELU,
}
"""An operation of one input, for each type that has one."""


class Variant(NamedTuple):
    """A graph, and what was changed. is_special: some numbers are at the edges of their types."""

    what: str
    graph: Graph
    is_special: bool = False


def variants(
    graph: Graph, rng: Random, most: int = 1 << 40, is_whole: bool = False
) -> Iterator[Variant]:
    """The graph as it is, and all that is made of it.

    most: numbers of a constant that is to have special contents. is_whole: floats that are finite
    are small whole numbers, so that their sums are exact in any order, and stay that.
    """
    yield Variant("as it is", graph)
    between = [
        index
        for index in graph.computed()
        if index in graph.read() and not is_exposed(graph, index)
    ]
    for index in between:
        yield Variant(f"operand {index} is an output", _with_item(graph, index, is_exposed=True))
    for index in between:
        read = _read_again(graph, index, rng)
        if read is not None:
            yield Variant(f"operand {index} has a second reader", read)
    for index, item in enumerate(graph.items):
        if item.kind == CONSTANT and not item.value.is_omitted and index in graph.read():
            yield Variant(f"operand {index} is an input", _with_item(graph, index, kind=INPUT))
    for index in between:
        wrong = _wrongly_declared(graph, index, rng)
        if wrong is not None:
            yield Variant(f"operand {index} declares other dimensions", wrong)
        less = _less_declared(graph, index, rng)
        yield Variant(f"operand {index} declares less", less)
        if graph.items[index].value.operand.scale and _is_replaced(graph, index):
            wrong = _with_item(graph, index, is_misdeclared=True)
            yield Variant(f"operand {index} declares another scale", wrong)
    yield from _with_other_numbers(graph, rng, is_whole)
    yield from _rewired(graph, rng)
    yield Variant("special inputs", special(graph, rng, most, is_whole, INPUT), True)
    yield Variant("special constants", special(graph, rng, most, is_whole, CONSTANT), True)
    yield Variant("special contents", special(graph, rng, most, is_whole, INPUT, CONSTANT), True)


def is_exposed(graph: Graph, index: int) -> bool:
    """Whether an operand is an output although something reads it."""
    return graph.items[index].is_exposed


def _with_item(graph: Graph, index: int, **changes: Any) -> Graph:
    items = list(graph.items)
    items[index] = items[index]._replace(**changes)
    return replace(graph, items=items)


def _read_again(graph: Graph, index: int, rng: Random) -> Graph | None:
    """With another operation that reads an operand, anywhere behind the one that writes it."""
    operand = graph.items[index].value.operand
    type = READERS.get(operand.type)
    if type is None or len(operand.dimensions) > 4:
        return None
    items = [*graph.items, Item(Value(operand), COMPUTED, operand.dimensions)]
    written = next(at for at, node in enumerate(graph.nodes) if index in node.outputs)
    location = int(rng.integers(written + 1, len(graph.nodes) + 1))
    reader = Node(type, (index,), (len(graph.items),))
    return replace(
        graph, items=items, nodes=[*graph.nodes[:location], reader, *graph.nodes[location:]]
    )


def _less_declared(graph: Graph, index: int, rng: Random) -> Graph:
    """Without the rank of an operand, or without one of its dimensions."""
    declared = list(graph.items[index].declared)
    if declared and rng.random() < 0.5:
        declared[int(rng.integers(len(declared)))] = 0
        return _with_item(graph, index, declared=tuple(declared))
    return _with_item(graph, index, declared=())


def _wrongly_declared(graph: Graph, index: int, rng: Random) -> Graph | None:
    """With one dimension of an operand that is not what its operation gives it."""
    declared = list(graph.items[index].declared)
    if not declared:
        return None
    declared[int(rng.integers(len(declared)))] += 1
    return _with_item(graph, index, declared=tuple(declared))


def _is_replaced(graph: Graph, index: int) -> bool:
    """Whether the operation that writes an operand gives it parameters of its own."""
    node = next(node for node in graph.nodes if index in node.outputs)
    return operation(node.type).quantization is not declared and node.type is not O.SOFTMAX


def _with_other_numbers(graph: Graph, rng: Random, is_whole: bool) -> Iterator[Variant]:
    """One number of a constant that says how an operation computes, or of a float constant."""
    for index, item in enumerate(graph.items):
        array = item.value.array
        if item.kind != CONSTANT or array is None or index not in graph.read():
            continue
        if array.size == 0 or array.size > 64:
            continue
        other = array.copy()
        at = int(rng.integers(array.size))
        if array.dtype.kind == "b":
            other.reshape(-1)[at] = not array.reshape(-1)[at]
        elif array.dtype.kind == "f":
            numbers = np.array(
                (0, -1, 3, 7 if is_whole else 1e-7, 6e4, np.inf, np.nan), array.dtype
            )
            other.reshape(-1)[at] = numbers[int(rng.integers(len(numbers)))]
        else:
            number = int(array.reshape(-1)[at]) + int(rng.choice((-2, -1, 1, 2)))
            other.reshape(-1)[at] = np.array(number).astype(array.dtype)
        changed = _with_item(graph, index, value=item.value._replace(array=other))
        is_special = array.dtype.kind == "f"
        yield Variant(f"operand {index} has another number", changed, is_special)


def _rewired(graph: Graph, rng: Random) -> Iterator[Variant]:
    """An input of an operation is another operand that is like it."""
    items = graph.items
    written: list[int] = [i for i, item in enumerate(items) if item.kind != COMPUTED]
    for number, node in enumerate(graph.nodes):
        for location, index in enumerate(node.inputs):
            operand = items[index].value.operand
            if not operand.dimensions or items[index].value.is_omitted:
                continue
            like = [
                other
                for other in written
                if other != index
                and not items[other].value.is_omitted
                and items[other].value.operand[:4] == operand[:4]
            ]
            if like and rng.random() < 0.5:
                other = like[int(rng.integers(len(like)))]
                inputs = (*node.inputs[:location], other, *node.inputs[location + 1 :])
                nodes = list(graph.nodes)
                nodes[number] = node._replace(inputs=inputs)
                what = f"operation {number} reads operand {other}, not {index}"
                yield Variant(what, replace(graph, nodes=nodes))
        written += node.outputs


def special(graph: Graph, rng: Random, most: int, is_whole: bool, *kinds: str) -> Graph:
    """With contents at the edges of their types."""
    items = list(graph.items)
    for index, item in enumerate(items):
        array, type = item.value.array, item.value.operand.type
        if item.kind not in kinds or array is None or array.size == 0:
            continue
        if item.kind == CONSTANT and array.size > most:
            continue
        if type in EDGES:
            edges = EDGES[type]
            if is_whole:
                edges = edges[~np.isfinite(edges) | np.isin(np.abs(edges), (0, 1))]
            array = with_edges(array, edges, rng)
        elif type in QUANTIZED_RANGE:
            ends = (*QUANTIZED_RANGE[type], item.value.operand.zero_point)
            array = with_edges(array, np.array(ends, array.dtype), rng)
        items[index] = item._replace(value=item.value._replace(array=array))
    return replace(graph, items=items, special=True)
