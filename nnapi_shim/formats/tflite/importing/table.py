"""All operators of the schema: their lowerings, or the reasons why there is none.

Each family is a file, imported at the first use of one of its operators.
"""

from importlib import import_module

from nnapi_shim.formats.tflite.importing.plain import Lowering

FAMILIES = {
    "binary": "ADD ADD_N DIV FLOOR_DIV FLOOR_MOD MAXIMUM MINIMUM MUL POW SQUARED_DIFFERENCE SUB",
    "comparison": "EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND LOGICAL_NOT LOGICAL_OR "
    "NOT_EQUAL SELECT SELECT_V2",
    "composite": "STABLEHLO_COMPOSITE",
    "control_flow": "ASSIGN_VARIABLE CALL_ONCE IF READ_VARIABLE VAR_HANDLE WHILE",
    "conversion": "CAST DENSIFY DEQUANTIZE QUANTIZE",
    "convolution": "CONV_2D Convolution2DTransposeBias DEPTHWISE_CONV_2D FULLY_CONNECTED "
    "TRANSPOSE_CONV",
    "detection": "TFLite_Detection_PostProcess",
    "joining": "CONCATENATION PACK SPLIT SPLIT_V UNPACK",
    "lookup": "EMBEDDING_LOOKUP HASHTABLE_LOOKUP LSH_PROJECTION",
    "matmul": "BATCH_MATMUL",
    "padding": "BATCH_TO_SPACE_ND DEPTH_TO_SPACE MIRROR_PAD PAD PADV2 SPACE_TO_BATCH_ND "
    "SPACE_TO_DEPTH",
    "pooling": "AVERAGE_POOL_2D L2_POOL_2D MAX_POOL_2D",
    "recurrent": "BIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_RNN LSTM RNN SVDF "
    "UNIDIRECTIONAL_SEQUENCE_LSTM UNIDIRECTIONAL_SEQUENCE_RNN",
    "reduction": "ARG_MAX ARG_MIN MEAN REDUCE_ALL REDUCE_ANY REDUCE_MAX REDUCE_MIN REDUCE_PROD SUM",
    "reshape": "BROADCAST_ARGS BROADCAST_TO EXPAND_DIMS FILL ONE_HOT RANGE RANK RESHAPE "
    "REVERSE_V2 SHAPE SLICE SQUEEZE TILE TRANSPOSE ZEROS_LIKE",
    "resize": "RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR",
    "slicing": "GATHER GATHER_ND STRIDED_SLICE TOPK_V2",
    "unary": "ABS CEIL COS ELU EXP FLOOR GELU HARD_SWISH L2_NORMALIZATION LEAKY_RELU "
    "LOCAL_RESPONSE_NORMALIZATION LOG LOGISTIC LOG_SOFTMAX NEG PRELU RELU RELU6 "
    "RELU_0_TO_1 RELU_N1_TO_1 ROUND RSQRT SIGN SIN SOFTMAX SQRT SQUARE TANH",
}
"""Family (a file in this folder) -> its operators."""

LOWERINGS = {name: family for family, names in FAMILIES.items() for name in names.split()}
"""Operator name -> the family of its lowering."""

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


def lowering_of(name: str) -> Lowering | None:
    """The lowering of an operator, or None."""
    if name not in LOWERINGS:
        return None
    family = import_module(f"{__package__}.{LOWERINGS[name]}")
    lowering: Lowering = family.LOWERINGS[name]
    return lowering


def why_not(name: str, is_custom: bool) -> str:
    """Why there is no lowering for an operator."""
    if name in REASONS:
        return REASONS[name]
    if name.startswith("STABLEHLO_"):
        return "StableHLO operators are not supported"
    if is_custom:
        return "a custom operator: its definition is not part of TensorFlow Lite"
    return "this version does not know the operator"
