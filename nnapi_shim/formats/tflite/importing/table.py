"""Every operator of the schema: how it is lowered, or why it is not."""

from nnapi_shim.formats.tflite.importing import (
    binary,
    comparison,
    composite,
    control_flow,
    conversion,
    convolution,
    detection,
    functions,
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
        functions,
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
"""Name of an operator -> what adds its operations."""

_BECAUSE = {
    "NNAPI has no operation for it, and none together give the same numbers": "ATAN2 "
    "COMPLEX_ABS CONV_3D CONV_3D_TRANSPOSE CUMSUM FAKE_QUANT IMAG MATRIX_DIAG MATRIX_SET_DIAG REAL "
    "REDUCE_WINDOW RFFT2D",
    "NNAPI writes to no place that an index says": "DYNAMIC_UPDATE_SLICE SCATTER_ND SEGMENT_SUM "
    "SPARSE_TO_DENSE UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN UNSORTED_SEGMENT_PROD "
    "UNSORTED_SEGMENT_SUM DILATE BUCKETIZE",
    "the data decides how large its outputs are": "NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 "
    "UNIQUE WHERE",
    "NNAPI has no operation on bits": "BITCAST BITWISE_XOR RIGHT_SHIFT",
    "its random numbers are not NNAPI's": "MULTINOMIAL RANDOM_STANDARD_NORMAL RANDOM_UNIFORM",
    "NNAPI has no tables that outlive a run": "HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT "
    "HASHTABLE_SIZE",
    "NNAPI has no sequences of different lengths": "REVERSE_SEQUENCE",
    "NNAPI has no sparse tensors": "EMBEDDING_LOOKUP_SPARSE",
    "LiteRT itself has no kernel for it": "CALL CONCAT_EMBEDDINGS SKIP_GRAM "
    "PLACEHOLDER_FOR_GREATER_OP_CODES",
    "it stands for what another delegate took": "DELEGATE",
    "nobody but its maker knows what it computes": "CUSTOM",
    "it holds what was compiled for an NPU, which nothing else runs": "DISPATCH_OP",
}
REASONS = {name: why for why, names in _BECAUSE.items() for name in names.split()}
"""Name of an operator without a lowering -> why."""


def why_not(name: str, is_custom: bool) -> str:
    """Why there is no lowering for an operator."""
    if name in REASONS:
        return REASONS[name]
    if name.startswith("STABLEHLO_"):
        return "operators of StableHLO are for compilers, and not lowered here"
    if is_custom:
        return "a custom operator: nobody but its maker knows what it computes"
    return "this version does not know it"
