"""Values that LiteRT copies: inputs and outputs of IF, WHILE, composites and of moving operators.

It copies the stored elements, whatever scales and zero points the tensors of both sides have.
So does CAST from a quantized type to itself. 16-bit tensors, whose operands are float32 (`wide`),
pass as their elements in TENSOR_INT32.
"""

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import FileGraph, Operator, Tensor
from nnapi_shim.formats.tflite.importing import wide
from nnapi_shim.formats.tflite.importing.graph import Importing, Stored
from nnapi_shim.formats.tflite.quantization import QUANTIZED
from nnapi_shim.hal.enums import OperandType as T

OPERATOR_BYTES, TENSOR_BYTES = 8192, 1024
"""The bytes counted for each operator and tensor of a graph that is imported again, about what they
take. A file of a few hundred bytes can refer to its graphs any number of times.
"""


_FIRST = """AVERAGE_POOL_2D BROADCAST_TO DEPTH_TO_SPACE GATHER GATHER_ND MAX_POOL_2D PAD RESHAPE
RESIZE_NEAREST_NEIGHBOR REVERSE_V2 SLICE SPACE_TO_DEPTH SPLIT_V SQUEEZE STRIDED_SLICE TILE TOPK_V2
TRANSPOSE"""
COPIED = {
    **dict.fromkeys(_FIRST.split(), (0,)),
    "PADV2": (0, 2),
    "SELECT": (1, 2),
    "SELECT_V2": (1, 2),
    "SPLIT": (1,),
}
"""Operators that LiteRT computes on stored elements -> the inputs that it copies from."""


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
    parameters = {"scale": scale, "zero_point": zero_point}
    sizes = elements.dimensions
    return graph.make("CAST", [elements], output=type, dimensions=sizes, **parameters)


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


def with_scale_of_output(graph: Importing, operator: Operator) -> Operator:
    """A moving operator whose inputs have the scale of its output, and their own elements."""
    places = [at for at in COPIED.get(operator.name, ()) if at < len(operator.inputs)]
    if not places or not operator.outputs:
        return operator
    target, inputs = graph.tensor(operator.outputs[0]), list(operator.inputs)
    if target.type not in QUANTIZED:
        return operator
    for index in operator.outputs[1:]:
        other = graph.tensor(index)
        if other.type == target.type and _scale(other) != _scale(target):
            raise reason(
                "its outputs have different scales, which LiteRT ignores",
                "import.tflite.scale-differs",
            )
    for at in places:
        source = graph.tensor(inputs[at])
        if source.type != target.type or _scale(source) == _scale(target):
            continue
        changed = source._replace(
            scales=target.scales, zero_points=target.zero_points, channel_dim=0, value=None
        )
        inputs[at] = number = graph.add_tensor(changed)
        graph.wide.discard(number)
        if target.number in graph.wide:
            graph.wide.add(number)
        alias(graph, number, source.number)
    return operator._replace(inputs=tuple(inputs))
