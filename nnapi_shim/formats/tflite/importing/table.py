"""All operators of the schema: their lowerings, or the reasons why there is none."""

from nnapi_shim.formats.tflite.importing import (
    binary,
    comparison,
    composite,
    control_flow,
    conversion,
    convolution,
    detection,
    joining,
    lookup,
    matmul,
    padding,
    pooling,
    recurrent,
    reduction,
    reshape,
    resize,
    slicing,
    unary,
)
from nnapi_shim.formats.tflite.importing.plain import Lowering

LOWERINGS: dict[str, Lowering] = {
    name: lowering
    for family in (
        binary,
        comparison,
        composite,
        control_flow,
        conversion,
        convolution,
        detection,
        joining,
        lookup,
        matmul,
        padding,
        pooling,
        recurrent,
        reduction,
        reshape,
        resize,
        slicing,
        unary,
    )
    for name, lowering in family.LOWERINGS.items()
}
"""Operator name -> lowering."""

_BECAUSE = {
    "no combination of NNAPI operations computes the same values": "ATAN2 COMPLEX_ABS "
    "CONV_3D CONV_3D_TRANSPOSE CUMSUM FAKE_QUANT IMAG MATRIX_DIAG MATRIX_SET_DIAG REAL "
    "REDUCE_WINDOW RFFT2D",
    "NNAPI has no operation that writes to indexed positions": "DYNAMIC_UPDATE_SLICE SCATTER_ND "
    "SEGMENT_SUM SPARSE_TO_DENSE UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN UNSORTED_SEGMENT_PROD "
    "UNSORTED_SEGMENT_SUM DILATE BUCKETIZE",
    "its output dimensions depend on the data": "NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 "
    "UNIQUE WHERE",
    "NNAPI has no bitwise operations": "BITCAST BITWISE_XOR RIGHT_SHIFT",
    "NNAPI generates other random numbers": "MULTINOMIAL RANDOM_STANDARD_NORMAL RANDOM_UNIFORM",
    "NNAPI has no tables that persist between runs": "HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT "
    "HASHTABLE_SIZE",
    "NNAPI has no operation on sequences of different lengths": "REVERSE_SEQUENCE",
    "NNAPI has no sparse tensors": "EMBEDDING_LOOKUP_SPARSE",
    "LiteRT itself has no kernel for it": "CALL CONCAT_EMBEDDINGS SKIP_GRAM "
    "PLACEHOLDER_FOR_GREATER_OP_CODES",
    "it replaces operators that another delegate runs": "DELEGATE",
    "its definition is not part of TensorFlow Lite": "CUSTOM",
    "it contains code compiled for an NPU": "DISPATCH_OP",
}
REASONS = {name: why for why, names in _BECAUSE.items() for name in names.split()}
"""Operator name -> the reason why there is no lowering."""


def why_not(name: str, is_custom: bool) -> str:
    """Why there is no lowering for an operator."""
    if name in REASONS:
        return REASONS[name]
    if name.startswith("STABLEHLO_"):
        return "StableHLO operators are not supported"
    if is_custom:
        return "a custom operator: its definition is not part of TensorFlow Lite"
    return "this version does not know the operator"
