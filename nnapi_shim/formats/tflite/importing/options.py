"""Options that many operators share, as NNAPI codes."""

from typing import Any

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite import schema
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.hal.enums import FuseCode, PaddingCode
from nnapi_shim.hal.enums import OperandType as T

_FUSED = {
    "NONE": FuseCode.NONE,
    "RELU": FuseCode.RELU,
    "RELU_N1_TO_1": FuseCode.RELU1,
    "RELU6": FuseCode.RELU6,
}


def padding(operator: Operator) -> PaddingCode:
    """The padding scheme."""
    code = operator.options.get("Padding", 0)
    if code not in schema.PADDING:
        raise reason(f"padding {code} is neither SAME nor VALID", "import.tflite.padding-scheme")
    return PaddingCode[schema.PADDING[code]]


def activation(operator: Operator) -> FuseCode:
    """The fused activation. LiteRT's kernels silently ignore codes that NNAPI lacks, so they are
    refused.
    """
    code = operator.options.get("FusedActivationFunction", 0)
    name = schema.ACTIVATIONS.get(code, str(code))
    if name not in _FUSED:
        raise reason(
            f"it fuses {name}, which NNAPI does not fuse, and LiteRT leaves out",
            "import.tflite.fused-activation",
        )
    return _FUSED[name]


def add_fused(graph: Importing, type: str, inputs: list[Any], operator: Operator) -> None:
    """Add an operation whose last input is the activation; for integers it follows as separate
    operations.
    """
    tensor = graph.tensor(operator.outputs[0])
    fused = activation(operator)
    if graph.parameters(tensor)[0] is T.TENSOR_INT32:
        result = graph.like(type, [*inputs, FuseCode.NONE], tensor)
        graph.give(operator, bounded(graph, result, fused))
    else:
        graph.add(type, [*inputs, fused], operator)


_BOUNDS = {
    FuseCode.NONE: (),
    FuseCode.RELU: (("MAXIMUM", 0),),
    FuseCode.RELU1: (("MAXIMUM", -1), ("MINIMUM", 1)),
    FuseCode.RELU6: (("MAXIMUM", 0), ("MINIMUM", 6)),
}


def bounded(graph: Importing, operand: Operand, fused: FuseCode) -> Operand:
    """A TENSOR_INT32 operand after an activation, which NNAPI's integer operations do not fuse."""
    for type, bound in _BOUNDS[fused]:
        operand = graph.make(type, [operand, np.full(1, bound, np.int32)])
    return operand


def strides(operator: Operator) -> tuple[int, int]:
    """Width, height."""
    return operator.options.get("StrideW", 0), operator.options.get("StrideH", 0)


def dilations(operator: Operator) -> tuple[int, int]:
    """Width, height."""
    options = operator.options
    return options.get("DilationWFactor", 1), options.get("DilationHFactor", 1)
