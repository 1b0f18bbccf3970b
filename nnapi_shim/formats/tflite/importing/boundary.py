"""Values that pass from graph to graph: the inputs and outputs of IF, WHILE and composites.

LiteRT passes the stored elements, whatever scales and zero points the tensors of both sides have.
So does CAST from a quantized type to itself. 16-bit tensors, whose operands are float32 (`wide`),
pass as their elements in TENSOR_INT32.
"""

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.tflite.file import FileGraph, Tensor
from nnapi_shim.formats.tflite.importing import wide
from nnapi_shim.formats.tflite.importing.graph import Importing, Stored
from nnapi_shim.formats.tflite.importing.reason import reason
from nnapi_shim.hal.enums import OperandType as T

OPERATOR_BYTES, TENSOR_BYTES = 8192, 1024
"""The bytes counted for each operator and tensor of a graph that is imported again, about what they
take. A file of a few hundred bytes can refer to its graphs any number of times.
"""


def again_bytes(graph: FileGraph) -> int:
    """The bytes counted for a graph that is imported again."""
    return OPERATOR_BYTES * (1 + len(graph.operators)) + TENSOR_BYTES * len(graph.tensors)


def stored_as(graph: Importing, index: int) -> Stored:
    """How the elements of a tensor are stored."""
    return (T.TENSOR_INT32, 0.0, 0) if index in graph.wide else graph.operand_type(index)


def stored(graph: Importing, index: int | None) -> Operand:
    """The stored elements of a tensor."""
    operand = graph.operand(index)
    if index in graph.wide:
        return wide.to_stored(graph, graph.tensor(index), operand)
    return operand


def define_stored(graph: Importing, index: int, elements: Operand) -> None:
    """Define a tensor by its stored elements."""
    graph.define(index, _of_stored(graph, index, elements))


def _of_stored(graph: Importing, index: int, elements: Operand) -> Operand:
    elements = restored(graph, elements, stored_as(graph, index))
    if index in graph.wide:
        return wide.from_stored(graph, graph.tensor(index), elements)
    return elements


def restored(graph: Importing, elements: Operand, target: Stored) -> Operand:
    """The same elements with another scale and zero point."""
    type, scale, zero_point = target
    if elements.type is not type:
        raise reason(
            f"{elements.type.name} is passed as {type.name}; allowed is the same type",
            "import.tflite.passed-type",
        )
    if (elements.scale, elements.zero_point) == (scale, zero_point):
        return elements
    result: Operand = graph.make(
        "CAST",
        [elements],
        output=type,
        dimensions=elements.dimensions,
        scale=scale,
        zero_point=zero_point,
    )
    return result


def alias(graph: Importing, index: int, source: int | None) -> None:
    """Give a tensor the elements of another one."""
    tensor, other = graph.tensor(index), graph.tensor(source)
    if tensor.type != other.type:
        raise reason(
            f"{other} is {other.type} and is passed as {tensor}, which is {tensor.type}; allowed "
            "is the same type",
            "import.tflite.passed-type",
        )
    if other.blocks is not None:
        raise reason(
            f"{other} has a scale for each block, and is passed as {tensor}, which has none",
            "import.tflite.block-scales",
        )
    value = graph.value(source)
    if value is not None:
        graph.fold(index, value)
    elif source in graph.partial:
        graph.partial[index] = graph.partial[source]
    elif source in graph.handles:
        graph.handles[index] = graph.handles[source]
    elif source in graph.held:
        operand, shape = graph.held[source]
        graph.held[index] = _passed(graph, operand, other, tensor), shape
    else:
        graph.define(index, _passed(graph, graph.operand(source), other, tensor))


def _passed(graph: Importing, operand: Operand, source: Tensor, target: Tensor) -> Operand:
    if source.number in graph.wide:
        if target.number in graph.wide and _scale(source) == _scale(target):
            return operand
        operand = wide.to_stored(graph, source, operand)
    return _of_stored(graph, target.number, operand)


def _scale(tensor: Tensor) -> tuple[tuple[float, ...], tuple[int, ...]]:
    return tensor.scales, tensor.zero_points
