"""Operator versions: the first version with the features in use, so that old runtimes can refuse
it.
"""

from nnapi_shim.formats.graph.builder import Emitted
from nnapi_shim.hal.enums import OperandType as T

SIGNED = {
    T.TENSOR_QUANT8_ASYMM_SIGNED,
    T.TENSOR_QUANT8_SYMM,
    T.TENSOR_QUANT8_SYMM_PER_CHANNEL,
}

_SIGNED_SINCE = {
    1: "RESHAPE SQUEEZE EXPAND_DIMS RELU_N1_TO_1 PRELU HARD_SWISH QUANTIZE REVERSE_V2 IF WHILE "
    "TILE RANK READ_VARIABLE ASSIGN_VARIABLE",
    3: "CONV_2D DEPTHWISE_CONV_2D FILL",
    4: "FULLY_CONNECTED",
}
_SIGNED = {name: number for number, names in _SIGNED_SINCE.items() for name in names.split()}
"""Operator -> first version with int8; 2 for all others."""


def version(operator: Emitted) -> int:
    """The version that this use of an operator needs."""
    tensors = [t for t in (*operator.inputs, *operator.outputs) if t is not None]
    types = {t.type for t in tensors}
    kind, options = operator.kind, operator.options
    result = _SIGNED.get(kind, 2) if types & SIGNED else 1
    if (
        kind == "DEPTHWISE_CONV_2D"
        and options.get("DilationWFactor", 1) + options.get("DilationHFactor", 1) > 2
    ):
        result = max(result, 2)
    elif kind == "TRANSPOSE_CONV":
        if len(operator.inputs) > 3:
            result = 3
        if options.get("FusedActivationFunction"):
            result = 4
    elif kind == "FULLY_CONNECTED" and len(operator.inputs) < 3:
        result = 6
    elif kind.startswith("RESIZE_") and options.get("HalfPixelCenters"):
        result = 3
    elif kind == "DEQUANTIZE":
        if T.TENSOR_FLOAT16 in types:
            result = 3
        if any(t.channel_quant for t in tensors):
            result = 5
        if T.TENSOR_QUANT16_SYMM in types:
            result = 4
    elif kind == "CAST" and types & {T.TENSOR_FLOAT16, T.TENSOR_QUANT16_ASYMM}:
        result = 4
    elif kind == "QUANTIZE" and T.TENSOR_QUANT16_SYMM in types:
        result = 2
    return result
