"""Pooling."""

from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.options import add_fused, padding, strides
from nnapi_shim.formats.tflite.importing.plain import Lowering


def _pool(type: str) -> Lowering:
    def lower(graph: Importing, operator: Operator) -> None:
        options = operator.options
        window = options.get("FilterWidth", 0), options.get("FilterHeight", 0)
        data = graph.operand(operator.inputs[0])
        add_fused(graph, type, [data, padding(operator), *strides(operator), *window], operator)

    return lower


LOWERINGS = {
    "AVERAGE_POOL_2D": _pool("AVERAGE_POOL_2D"),
    "L2_POOL_2D": _pool("L2_POOL_2D"),
    "MAX_POOL_2D": _pool("MAX_POOL_2D"),
}
