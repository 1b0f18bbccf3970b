"""Partitions a graph into parts that NNAPI can express and parts for LiteRT."""

from collections.abc import Sequence

from nnapi_shim.formats.importing.parts import Dataflow, DataflowNode, Part, parts_of
from nnapi_shim.formats.importing.reason import Reason
from nnapi_shim.formats.tflite.file import File, FileGraph
from nnapi_shim.formats.tflite.importing.model import Names, attempt

VARIABLES = {"ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE"}
"""Operators on variables, which must be in one part."""

RANDOM = {
    "MULTINOMIAL",
    "RANDOM_STANDARD_NORMAL",
    "RANDOM_UNIFORM",
    "STABLEHLO_RNG_BIT_GENERATOR",
}
"""Operators with random outputs."""


def partitioned(file: File, graph: FileGraph, names: Names) -> list[Part]:
    """The parts of a graph, in execution order."""

    def attempted(part: Part) -> tuple[Part, Sequence[Reason]]:
        model, reasons = attempt(file, _graph(graph, part), _names(names, part))
        return part._replace(model=model), reasons

    _, reasons = attempt(file, graph, names)
    has_variables = any(operator.name in VARIABLES for operator in graph.operators)
    return parts_of(
        _flow(graph),
        reasons,
        attempted,
        fixed=() if has_variables else _fixed(graph),
        is_together=has_variables,
    )


def _flow(graph: FileGraph) -> Dataflow:
    operators = (
        DataflowNode(
            operator.number,
            operator.name,
            tuple(index for index in operator.inputs if index is not None),
            tuple(operator.outputs),
        )
        for operator in graph.operators
    )
    return Dataflow(tuple(operators), tuple(graph.inputs), tuple(graph.outputs))


def _fixed(graph: FileGraph) -> set[int]:
    """Indices of operators with the same outputs in every run, none of them a graph output."""
    fixed: set[int] = set()
    known = {tensor.number for tensor in graph.tensors if tensor.is_constant}
    boundary = {*graph.inputs, *graph.outputs}
    for operator in graph.operators:
        inputs = [index for index in operator.inputs if index is not None]
        is_plain = operator.custom is None and operator.name not in RANDOM | VARIABLES
        if (
            is_plain
            and inputs
            and known.issuperset(inputs)
            and boundary.isdisjoint(operator.outputs)
        ):
            fixed.add(operator.number)
            known.update(operator.outputs)
    return fixed


def _graph(graph: FileGraph, part: Part) -> FileGraph:
    """A part as a graph."""
    operators = tuple(graph.operators[operator.number] for operator in part.operators)
    return graph._replace(operators=operators, inputs=part.inputs, outputs=part.outputs)


def _names(names: Names, part: Part) -> Names:
    """The names of those inputs and outputs of a part that are also the graph's."""
    return Names(
        {index: name for index, name in names.inputs.items() if index in part.inputs},
        {index: name for index, name in names.outputs.items() if index in part.outputs},
    )
