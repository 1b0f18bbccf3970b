"""Why forms are refused: every reason that may be given, and for which operators."""

import re

from tests.formats.tflite.forms.form import Form

ANY = ".*"

REASONS: dict[str, tuple[str, str]] = {
    "64 bits: NNAPI has no such type": (ANY, r"is INT64, which NNAPI does not have"),
    "UINT32: NNAPI has no such type": (ANY, r"is UINT32, which NNAPI does not have"),
    "UINT16: NNAPI has no such type": (ANY, r"is UINT16, which NNAPI does not have"),
    "FLOAT64: NNAPI has no such type": (ANY, r"is FLOAT64, which NNAPI does not have"),
    "NNAPI does not move booleans": (
        ANY,
        r"NNAPI does not reshape booleans|(input|inputs|values) \(.*\) is TENSOR_BOOL8; allowed",
    ),
    "NNAPI has no such operation on TENSOR_INT32": (
        "BATCH_TO_SPACE_ND|DEPTH_TO_SPACE|MEAN|PAD|PADV2|POW|REDUCE_MAX|REDUCE_MIN|REDUCE_PROD|"
        "SPACE_TO_BATCH_ND|SPACE_TO_DEPTH|SUM|TRANSPOSE",
        r"is TENSOR_INT32; allowed here|of integers",
    ),
    "NNAPI has no strided slices of integers": ("STRIDED_SLICE", "no strided slices of integers"),
    "HASHTABLE_LOOKUP of types that NNAPI has not": ("HASHTABLE_LOOKUP", r"values .* allowed here"),
    "EMBEDDING_LOOKUP converts tables of bytes alone": ("EMBEDDING_LOOKUP", "a float output of a"),
    "bytes and 16 bits without a scale: no such CAST": (
        "CAST",
        r"CAST: the output cannot be|CAST: .*; it needs `scale`|CAST: input",
    ),
    "indices of 16 bits": ("GATHER", r"indices .* is TENSOR_QUANT16_SYMM"),
    "batches of indices": ("GATHER", "it has batch dimensions"),
    "rank above 4 that cannot be merged": (
        ANY,
        r"has rank [567] |cannot be merged",
    ),
    "it gives nothing": ("STRIDED_SLICE", "its output has no elements"),
    "neither NNAPI nor LiteRT says what it gives": (
        "STRIDED_SLICE",
        "a shrunk dimension has a stride below 0",
    ),
    "the model has no input": ("FILL|RANGE|BROADCAST_ARGS", "a model needs at least one input"),
    "what has to be known is computed": (
        "RANGE|PADV2|BROADCAST_ARGS",
        "are no constants|is no constant",
    ),
    "NNAPI fuses no such activation; LiteRT leaves it out": (ANY, "it fuses (TANH|SIGN_BIT)"),
    "quantized: LiteRT does not compute what the scales say": (
        "NEG|REDUCE_PROD|MAXIMUM|MINIMUM|FLOOR_DIV|FLOOR_MOD",
        "its values are quantized|have different scales",
    ),
    "16 bits: LiteRT computes otherwise": (ANY, "for 16-bit tensors LiteRT"),
    "FLOOR_MOD of real numbers": ("FLOOR_MOD", "NNAPI's operations round intermediate results"),
    "NNAPI has no operation for it": (
        "ATAN2|CONV_3D|CONV_3D_TRANSPOSE|CUMSUM|DILATE|FAKE_QUANT|MATRIX_DIAG|"
        "MATRIX_SET_DIAG|REDUCE_WINDOW|RFFT2D",
        "no combination of NNAPI operations",
    ),
    "NNAPI has no bitwise operations": ("BITCAST|BITWISE_XOR|RIGHT_SHIFT", "no bitwise operations"),
    "NNAPI does not write to indexed positions": (
        "BUCKETIZE|DILATE|DYNAMIC_UPDATE_SLICE|SCATTER_ND|SEGMENT_SUM|SPARSE_TO_DENSE|UNSORTED_.*",
        "no operation that writes to indexed positions",
    ),
    "NNAPI has no sequences of different lengths": (
        "REVERSE_SEQUENCE",
        "on sequences of different lengths",
    ),
    "random numbers": ("MULTINOMIAL|RANDOM_.*", "NNAPI generates other random numbers"),
    "output dimensions depend on the data": (
        "NON_MAX_SUPPRESSION_V.|UNIQUE|WHERE",
        "its output dimensions depend on the data",
    ),
}
"""What it is called -> (operators, what the message says): regular expressions."""


def reason_of(form: Form, why: str) -> str:
    """The entry that a refusal belongs to; "" for none."""
    for name, (operators, message) in REASONS.items():
        if re.fullmatch(operators, form.operator) and re.search(message, why):
            return name
    return ""
