"""IF, WHILE, and resource variables."""

from collections.abc import Sequence

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import FileGraph, Operator
from nnapi_shim.formats.tflite.importing.boundary import define_stored, stored, stored_as
from nnapi_shim.formats.tflite.importing.graph import Boundary, Importing, Stored
from nnapi_shim.formats.tflite.importing.plain import Lowering


def if_(graph: Importing, operator: Operator) -> None:
    """IF with two graphs."""
    condition = graph.operand(operator.inputs[0])
    inputs = [stored(graph, index) for index in operator.inputs[1:]]
    outputs = tuple(stored_as(graph, index) for index in operator.outputs)
    boundary = Boundary(_as_stored(inputs), outputs)
    then, otherwise = (
        graph.inner(int(operator.options.get(name, 0)), boundary)
        for name in ("ThenSubgraphIndex", "ElseSubgraphIndex")
    )
    _give(graph, operator, graph.several("IF", [condition, then, otherwise, *inputs]))


def while_(graph: Importing, operator: Operator) -> None:
    """WHILE with a condition graph and a body graph. NNAPI's loop has one type for each value."""
    options = operator.options
    inputs = [stored(graph, index) for index in operator.inputs]
    values = _as_stored(inputs)
    condition = graph.inner(int(options.get("CondSubgraphIndex", 0)), Boundary(values))
    body = graph.inner(int(options.get("BodySubgraphIndex", 0)), Boundary(values, values))
    count = len(operator.outputs)
    _give(graph, operator, graph.several("WHILE", [condition, body, *inputs], output_count=count))


def _as_stored(operands: Sequence[Operand]) -> tuple[Stored, ...]:
    return tuple((operand.type, operand.scale, operand.zero_point) for operand in operands)


def _give(graph: Importing, operator: Operator, outputs: Sequence[Operand]) -> None:
    if len(outputs) != len(operator.outputs):
        raise reason(
            f"its graphs have {len(outputs)} outputs", "import.tflite.control-flow.output-count"
        )
    for index, result in zip(operator.outputs, outputs, strict=True):
        define_stored(graph, index, result)


def handle(graph: Importing, operator: Operator) -> None:
    """VAR_HANDLE: the name of a variable, for the operators that read and write it."""
    if graph.is_inner:
        raise reason("an inner graph has a variable", "import.tflite.variable.inner-graph")
    graph.handles[operator.outputs[0]] = _name(operator)


def _name(operator: Operator) -> str:
    """The key of a variable in LiteRT: container and shared name, each possibly empty."""
    parts = [str(operator.options.get(name, "")) for name in ("Container", "SharedName")]
    return "/".join(part for part in parts if part) or "variable"


def _variable(graph: Importing, operator: Operator) -> str:
    index = operator.inputs[0]
    if index not in graph.handles:
        raise reason("the variable of its handle is unknown", "import.tflite.variable.unknown")
    return graph.handles[index]


def read(graph: Importing, operator: Operator) -> None:
    """READ_VARIABLE: the current value, a model input before the first assignment."""
    name = _variable(graph, operator)
    tensor = graph.tensor(operator.outputs[0])
    if name not in graph.variables:
        initial = graph.initial.get(name)
        shape = tensor.shape if initial is None else initial.shape
        operand = graph.state(name, shape, *graph.parameters(tensor), initial=initial)
        graph.variables[name] = graph.first[name] = operand
    graph.define(tensor.number, graph.variables[name])


def assign(graph: Importing, operator: Operator) -> None:
    """ASSIGN_VARIABLE: set the current value."""
    graph.variables[_variable(graph, operator)] = graph.operand(operator.inputs[1])


def call_once(graph: Importing, operator: Operator) -> None:
    """CALL_ONCE: the initial values of variables; other operators are refused."""
    number = int(operator.options.get("InitSubgraphIndex", 0))
    start = _numbered(graph, number)
    handles: dict[int | None, str] = {}
    for item in start.operators:
        if item.name == "VAR_HANDLE":
            handles[item.outputs[0]] = _name(item)
        elif item.name == "ASSIGN_VARIABLE" and item.inputs[0] in handles:
            tensor = start.tensors[item.inputs[1] or 0]
            if tensor.value is None:
                raise reason(
                    f"graph {number} gives {tensor} to a variable",
                    "import.tflite.call-once.not-constant",
                )
            graph.initial[handles[item.inputs[0]]] = np.atleast_1d(tensor.value)
        else:
            raise reason(
                f"graph {number} has {item}, which is run once", "import.tflite.call-once.operator"
            )


def _numbered(graph: Importing, number: int) -> FileGraph:
    if not 0 <= number < len(graph.file.graphs):
        raise reason(
            f"graph {number}; the file has {len(graph.file.graphs)}", "import.tflite.graph-index"
        )
    return graph.file.graphs[number]


LOWERINGS: dict[str, Lowering] = {
    "ASSIGN_VARIABLE": assign,
    "CALL_ONCE": call_once,
    "IF": if_,
    "READ_VARIABLE": read,
    "VAR_HANDLE": handle,
    "WHILE": while_,
}
