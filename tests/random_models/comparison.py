"""What has to agree when a random model runs.

check() runs a model on the CPU device with every tensor as an output, and compares each operation
with the formula on the very inputs that it had there: errors do not add up, so every operation has
its own tolerance. Then the model runs again with only its last tensors as outputs, so that the rest
shares memory; that may change no bit. The reference device runs it as a whole.

An IF or WHILE has to give, bit for bit, what its graphs give when they run on their own.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from tests.operations.cases import AMPLITUDE
from tests.random_models import real_numbers
from tests.random_models.closeness import Difference, close, same_bits
from tests.random_models.graph import COMPUTED, INPUT, Graph, Item, Node, assemble
from tests.random_models.running import Prepared, Wrong, evaluate, run
from tests.single import Value

MAX_ROUNDS = 16
"""More than any WHILE of a random model has."""


def check(graph: Graph, cpu: Any, reference: Any) -> None:
    """Raise Difference if anything disagrees."""
    outcome = everything_computed(graph, cpu)
    fewer_outputs(graph, cpu, outcome)
    other_inputs(graph, cpu)
    as_a_whole(graph, reference, outcome)
    if graph.failing is not None:
        same_failure(graph, cpu, reference)


def everything_computed(graph: Graph, cpu: Any, is_later_round: bool = False) -> dict[int, Any]:
    """Run with every tensor as an output; compare each operation. Operand -> contents.

    is_later_round: the inputs are not those that the operations were chosen for.
    """
    computed = graph.computed()
    arrays = _run(graph, computed, cpu, "nnapi-cpu, every tensor an output")
    contents = {
        index: item.value.array
        for index, item in enumerate(graph.items)
        if item.value.array is not None
    }
    contents |= zip(computed, arrays, strict=True)
    for number, node in enumerate(graph.nodes):
        try:
            _compare_node(graph, node, contents, cpu, is_later_round)
        except Difference as error:
            message = f"operation {number}, {error}"
            raise Difference(message, number, error.graph) from error
    return contents


def fewer_outputs(graph: Graph, cpu: Any, expected: dict[int, Any]) -> None:
    """The last tensors, and the few that are exposed, as the only outputs: the same bits."""
    ends = graph.ends()
    arrays = _run(graph, ends, cpu, "nnapi-cpu, only the last tensors as outputs")
    for index, array in zip(ends, arrays, strict=True):
        same_bits(
            array,
            expected[index],
            f"operand {index}: with fewer outputs nnapi-cpu gives something else",
            _producer(graph, index),
        )


def other_inputs(graph: Graph, cpu: Any) -> None:
    """A prepared model that runs with other inputs in between gives what it has given before; with
    the others it gives what a model that knows nothing else gives.
    """
    ends = graph.ends()
    # Other inputs may mean other dimensions than those that the model declares.
    built = assemble(_undeclared(graph), ends)
    others = [_reversed(array) for array in built.inputs]
    if all(array is other for array, other in zip(built.inputs, others, strict=True)):
        return
    values = sizes(graph, ends)
    prepared = Prepared(cpu, built)
    first = prepared.run(built.inputs, values)
    between = _outcome(prepared, others, values)
    alone = _outcome(Prepared(cpu, built), others, values)
    second = _outcome(prepared, built.inputs, values)
    for one, other, what in (
        (between, alone, "a prepared model that has run before gives something else"),
        (second, first, "a prepared model that has run with other inputs gives something else"),
    ):
        if isinstance(one, str) or isinstance(other, str):
            if one != other:
                raise Difference(f"{what}: {one}, not {other}")
            continue
        for index, ours, theirs in zip(ends, one, other, strict=True):
            same_bits(ours, theirs, f"operand {index}: {what}", _producer(graph, index))


def _undeclared(graph: Graph) -> Graph:
    """The same graph, which says nothing about the dimensions of what is computed."""
    items = [item._replace(declared=()) if item.kind == COMPUTED else item for item in graph.items]
    nodes = [
        node._replace(graphs=tuple([_undeclared(inner) for inner in node.graphs]))
        for node in graph.nodes
    ]
    return replace(graph, items=items, nodes=nodes, failing=None)


def _reversed(array: Any) -> Any:
    """The numbers of a tensor in reverse order; the array itself if that changes nothing."""
    if array is None or array.size < 2:
        return array
    other = np.ascontiguousarray(array.ravel()[::-1].reshape(array.shape))
    return array if other.tobytes() == array.tobytes() else other


def _outcome(prepared: Prepared, contents: Sequence[Any], sizes: Sequence[Dimensions]) -> Any:
    """The outputs, or the error as text."""
    try:
        return prepared.run(contents, sizes)
    except NnapiError as error:
        return f"{error.code.name}, {error.message}"
    except Wrong as error:
        raise Difference(f"nnapi-cpu, with other inputs: {error}") from error


def as_a_whole(graph: Graph, reference: Any, expected: dict[int, Any]) -> None:
    """The reference device runs the model too, and gives the same dimensions."""
    ends = graph.ends()
    arrays = _run(graph, ends, reference, "nnapi-reference")
    for index, array in zip(ends, arrays, strict=True):
        if graph.items[index].is_settled and array.shape != expected[index].shape:
            raise Difference(
                f"operand {index} has dimensions {list(array.shape)} on nnapi-reference, "
                f"{list(expected[index].shape)} on nnapi-cpu",
                _producer(graph, index),
            )


def same_failure(graph: Graph, cpu: Any, reference: Any) -> None:
    """The operation that is to fail does so on both devices, with the same result code."""
    assert graph.failing is not None
    built = assemble(graph, graph.ends(), with_failing=True)
    expected = sizes(graph, built.model.main.output_indexes)
    codes = []
    for device in (cpu, reference):
        try:
            run(device, built, expected)
            codes.append("no error")
        except NnapiError as error:
            codes.append(f"{error.code.name}: {error.message}")
        except Exception as error:
            raise Difference(f"{device.name} raises {error!r}", len(graph.nodes)) from error
    if codes[0].split(":")[0] != codes[1].split(":")[0]:
        raise Difference(
            f"nnapi-cpu ends with {codes[0]}; nnapi-reference with {codes[1]}", len(graph.nodes)
        )


def _run(graph: Graph, outputs: Sequence[int], device: Any, what: str) -> list[Any]:
    try:
        return run(device, assemble(graph, outputs), sizes(graph, outputs))
    except Wrong as error:
        raise Difference(f"{what}: {error}") from error
    except NnapiError as error:
        raise Difference(f"{what}: {error.code.name}, {error.message}") from error
    except Exception as error:
        raise Difference(f"{what}: it raises {error!r}") from error


def sizes(graph: Graph, outputs: Sequence[int]) -> list[Dimensions]:
    return [graph.items[index].value.operand.dimensions for index in outputs]


def _producer(graph: Graph, index: int) -> int:
    return next(at for at, node in enumerate(graph.nodes) if index in node.outputs)


# One operation


def _compare_node(
    graph: Graph, node: Node, contents: dict[int, Any], cpu: Any, is_later_round: bool
) -> None:
    inputs = [_with(graph.items[i].value, contents.get(i)) for i in node.inputs]
    actual = [contents[i] for i in node.outputs]
    if node.graphs:
        expected = _of_graphs(node, inputs, cpu)
        for position, (ours, theirs) in enumerate(zip(actual, expected, strict=True)):
            what = f"output {position} of {node.type.name} is not what its graphs give"
            same_bits(ours, theirs, what)
        return
    if is_later_round and not _is_in_range(node.type, inputs):
        return
    outputs = [_with(graph.items[i].value, None) for i in node.outputs]
    expected = _expected(graph, node, contents, inputs, outputs)
    close(node, inputs, outputs, actual, expected, graph.special)
    if graph.special:
        return  # scales may be so small that the integers of the reference hold nothing of them
    try:
        real_numbers.check(node, inputs, outputs, actual)
    except real_numbers.Far as error:
        raise Difference(str(error)) from error


def _with(value: Value, array: Any) -> Value:
    """An operand with other contents."""
    dimensions = value.operand.dimensions if array is None else array.shape
    return Value(value.operand._replace(dimensions=dimensions), array, value.is_omitted)


def _expected(
    graph: Graph,
    node: Node,
    contents: dict[int, Any],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
) -> list[Any]:
    """What the reference device gives: known where the inputs are those that it has had before."""
    items = graph.items
    if (
        all(
            items[i].kind != COMPUTED or contents[i].tobytes() == items[i].value.array.tobytes()
            for i in node.inputs
        )
        and not graph.inputs
    ):
        return [items[i].value.array for i in node.outputs]
    empty = [output._replace(operand=output.operand._replace(dimensions=())) for output in outputs]
    try:
        return evaluate(node, inputs, empty)
    except NnapiError as error:
        raise Difference(
            f"{node.type.name}: nnapi-cpu computes it, nnapi-reference says {error.message}"
        ) from error


def _is_in_range(type: OperationType, inputs: Sequence[Value]) -> bool:
    """Whether tolerances mean something: all numbers finite, and no larger than in examples."""
    largest = AMPLITUDE.get(type.name, 8.0)
    return all(
        bool((np.abs(value.array) <= largest).all())
        for value in inputs
        if value.array is not None and value.array.dtype.kind == "f"
    )


# IF and WHILE


def _of_graphs(node: Node, inputs: Sequence[Value], cpu: Any) -> list[Any]:
    """What the graphs give, run on their own; each of their operations is compared."""
    if node.type is OperationType.IF:
        condition, *arguments = inputs
        chosen = node.graphs[0 if condition.array.ravel()[0] else 1]
        return _of_graph(chosen, [value.array for value in arguments], cpu, False)
    test, body = node.graphs
    state = [value.array for value in inputs]
    for number in range(MAX_ROUNDS):
        (goes_on,) = _of_graph(test, state, cpu, number > 0)
        if not goes_on.ravel()[0]:
            return state[: len(node.outputs)]
        results = _of_graph(body, state, cpu, number > 0)
        state = [*results, *state[len(results) :]]
    raise Difference(f"WHILE goes on after {MAX_ROUNDS} rounds")


def _of_graph(graph: Graph, arguments: Sequence[Any], cpu: Any, is_later_round: bool) -> list[Any]:
    items = list(graph.items)
    for index, array in zip(graph.inputs, arguments, strict=True):
        value = _with(items[index].value, array)
        items[index] = Item(value, INPUT, value.operand.dimensions if array is not None else ())
    alone = replace(graph, items=items, failing=None)
    try:
        contents = everything_computed(alone, cpu, is_later_round)
    except Difference as error:
        raise Difference(str(error), graph=error.graph or alone) from error
    return [contents[index] for index in graph.outputs]
