"""The rows of products with constant weights."""

from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Operation


def batches(graph: MutableGraph, item: Operation) -> int:
    """The batch size of an operation of ON_ONE_ROW; 0 if it is unknown."""
    if item.type is OperationType.FULLY_CONNECTED:
        return (graph.operands[item.outputs[0]].dimensions or (0,))[0]
    names = graph.named(item)
    dimensions = graph.operands[names["input"]].dimensions
    axis = 1 if "time_major" in names and graph.value(names["time_major"]) else 0
    return dimensions[axis] if len(dimensions) > axis else 0
