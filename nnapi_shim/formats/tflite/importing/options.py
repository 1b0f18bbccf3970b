"""Options that many operators have, in NNAPI's words."""

from typing import Any

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.tflite import schema
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing, reason
from nnapi_shim.hal.enums import FuseCode, PaddingCode
from nnapi_shim.hal.quantization import QUANTIZED_RANGE

_FUSED = {
    "NONE": FuseCode.NONE,
    "RELU": FuseCode.RELU,
    "RELU_N1_TO_1": FuseCode.RELU1,
    "RELU6": FuseCode.RELU6,
    "TANH": FuseCode.NONE,
}


def padding(operator: Operator) -> PaddingCode:
    """How the edges of an image are filled."""
    code = operator.options.get("Padding", 0)
    if code not in schema.PADDING:
        raise reason(f"padding {code} is neither SAME nor VALID", "padding")
    return PaddingCode[schema.PADDING[code]]


def _activation(operator: Operator) -> str:
    code = operator.options.get("FusedActivationFunction", 0)
    return schema.ACTIVATIONS.get(code, str(code))


def activation(operator: Operator) -> FuseCode:
    """The fused activation; NONE where `add_fused` adds an operation for it."""
    name = _activation(operator)
    if name not in _FUSED:
        raise reason(f"NNAPI fuses no activation {name}", "activation")
    return _FUSED[name]


def add_fused(graph: Importing, type: str, inputs: list[Any], operator: Operator) -> None:
    """An operation that has its activation as last input, and what the file fuses beyond that."""
    tensor = graph.tensor(operator.outputs[0])
    result: Operand = graph.like(type, [*inputs, activation(operator)], tensor)
    graph.give(operator, after(graph, operator, result))


def after(graph: Importing, operator: Operator, operand: Operand) -> Operand:
    """The result of an operation with the activation that NNAPI cannot fuse, TANH."""
    if _activation(operator) != "TANH":
        return operand
    if operand.type in QUANTIZED_RANGE:
        raise reason("TANH is fused into an operator of quantized values", "activation")
    result: Operand = graph.make("TANH", [operand])
    return result


def strides(operator: Operator) -> tuple[int, int]:
    """Width, height."""
    return operator.options.get("StrideW", 0), operator.options.get("StrideH", 0)


def dilations(operator: Operator) -> tuple[int, int]:
    """Width, height."""
    options = operator.options
    return options.get("DilationWFactor", 1), options.get("DilationHFactor", 1)
