"""STABLEHLO_COMPOSITE: replaced by the operators of its decomposition graph."""

from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.boundary import again_bytes, alias
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.plain import Lowering
from nnapi_shim.formats.tflite.importing.wide import wide_tensors

MOST_NESTED = 32


def composite(graph: Importing, operator: Operator) -> None:
    """Inline the decomposition graph; each of its tensors becomes a new one."""
    number = int(operator.options.get("DecompositionSubgraphIndex", -1))
    if not 0 < number < len(graph.file.graphs):
        raise reason(
            f"graph {number}; the file has {len(graph.file.graphs)}", "import.tflite.graph-index"
        )
    inner = graph.file.graphs[number]
    if len(inner.inputs) != len(operator.inputs) or len(inner.outputs) != len(operator.outputs):
        raise reason(
            f"graph {number} has other inputs or outputs than it",
            "import.tflite.composite.operands",
        )
    if number in graph.nested or len(graph.nested) >= MOST_NESTED:
        raise reason(
            f"graph {number} contains itself, or is nested deeper than {MOST_NESTED} graphs",
            "import.tflite.composite.recursion",
        )
    graph.room.take(
        again_bytes(inner), f"the operators of graph {number}, inlined for a composite,"
    )
    indexes = {tensor.number: graph.add_tensor(tensor) for tensor in inner.tensors}
    wide = wide_tensors(inner)
    graph.wide -= set(indexes.values())
    graph.wide |= {indexes[index] for index in wide}
    for outside, index in zip(operator.inputs, inner.inputs, strict=True):
        alias(graph, indexes[index], outside)
    graph.nested.append(number)
    try:
        for item in inner.operators:
            inputs = tuple(None if index is None else indexes[index] for index in item.inputs)
            graph.lower(
                item._replace(
                    inputs=inputs,
                    outputs=tuple(indexes[index] for index in item.outputs),
                    intermediates=tuple(indexes[index] for index in item.intermediates),
                )
            )
    finally:
        graph.nested.pop()
    for outside, index in zip(operator.outputs, inner.outputs, strict=True):
        alias(graph, outside, indexes[index])


LOWERINGS: dict[str, Lowering] = {"STABLEHLO_COMPOSITE": composite}
