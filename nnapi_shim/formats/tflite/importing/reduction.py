"""Reductions along axes, ARG_MAX and ARG_MIN."""

from nnapi_shim.api.signature import Input
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.plain import Lowering


def _reduce(type: str) -> Lowering:
    def lower(graph: Importing, operator: Operator) -> None:
        data = graph.operand(operator.inputs[0])
        if type == "REDUCE_PROD" and graph.tensor(operator.inputs[0]).scales:
            raise reason(
                "its values are quantized, and LiteRT rounds after each factor",
                "import.tflite.reduce-prod.quantized",
            )
        axes = graph.value(operator.inputs[1])
        if axes is not None and not axes.size:
            graph.give(operator, graph.copy(data))
            return
        keep = bool(operator.options.get("KeepDims", False))
        chosen = graph.integers(operator.inputs[1])
        graph.add(type, [data, chosen, int(keep) if type == "MEAN" else keep], operator)

    return lower


def _index(type: str) -> Lowering:
    def lower(graph: Importing, operator: Operator) -> None:
        (axis,) = graph.numbers(operator.inputs[1], "its axis")
        inputs: list[Input] = [graph.operand(operator.inputs[0]), axis]
        (output,) = operator.outputs
        if graph.tensor(output).type == "INT64":  # indices fit in 31 bits
            graph.define(output, graph.make(type, inputs))
        else:
            graph.add(type, inputs, operator)

    return lower


LOWERINGS = {
    "ARG_MAX": _index("ARGMAX"),
    "ARG_MIN": _index("ARGMIN"),
    "MEAN": _reduce("MEAN"),
    "REDUCE_ALL": _reduce("REDUCE_ALL"),
    "REDUCE_ANY": _reduce("REDUCE_ANY"),
    "REDUCE_MAX": _reduce("REDUCE_MAX"),
    "REDUCE_MIN": _reduce("REDUCE_MIN"),
    "REDUCE_PROD": _reduce("REDUCE_PROD"),
    "SUM": _reduce("REDUCE_SUM"),
}
