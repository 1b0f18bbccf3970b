"""All operators: their lowerings, or the reasons why there is none."""

from nnapi_shim.formats.onnx.importing import (
    arithmetic,
    control_flow,
    conversion,
    convolution,
    matmul,
    moves,
    normalization,
    pooling,
    quantized,
    recurrent,
    reduction,
    resize,
    slicing,
    unary,
    unrolling,
)
from nnapi_shim.formats.onnx.importing.elementwise import Lowering
from nnapi_shim.formats.onnx.importing.folding import FOLDS, WITHOUT_VALUES

LOWERINGS: dict[str, Lowering] = {
    name: lowering
    for family in (
        arithmetic,
        control_flow,
        conversion,
        convolution,
        matmul,
        moves,
        normalization,
        pooling,
        quantized,
        recurrent,
        reduction,
        resize,
        slicing,
        unary,
        unrolling,
    )
    for name, lowering in family.LOWERINGS.items()
}
"""Operator -> lowering."""

FOLDED = sorted({*FOLDS, *WITHOUT_VALUES, "Constant", "Shape", "Size"} - {*LOWERINGS})
"""Operators that are taken only where their result follows from constants and dimensions."""

_BECAUSE = {
    "NNAPI weights samples outside of the image differently": "RoiAlign",
    "no combination of NNAPI operations computes the same values": "Acos Acosh Asin Asinh Atan "
    "Atanh Sinh Tan Det DeformConv MaxUnpool Col2Im GridSample AffineGrid "
    "MaxRoiPool GlobalLpPool",
    "NNAPI has no operation that writes to indexed positions": "Scatter ScatterElements ScatterND "
    "TensorScatter",
    "its output dimensions depend on the data": "Compress NonMaxSuppression Unique TfIdfVectorizer",
    "NNAPI has no bitwise operations": "BitShift BitwiseAnd BitwiseNot BitwiseOr "
    "BitwiseXor BitCast",
    "NNAPI generates other random numbers": "Bernoulli Multinomial RandomNormal RandomNormalLike "
    "RandomUniform RandomUniformLike",
    "NNAPI has no sequences, optional values or texts": "ConcatFromSequence Optional "
    "OptionalGetElement OptionalHasElement RegexFullMatch SequenceAt SequenceConstruct "
    "SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap SplitToSequence "
    "StringConcat StringNormalizer StringSplit ImageDecoder",
    "NNAPI has no operation on sequences of different lengths": "ReverseSequence",
    "NNAPI has no complex numbers": "DFT STFT",
    "it is an operator of training": "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
}
REASONS = {name: why for why, names in _BECAUSE.items() for name in names.split()}
"""Operator -> the reason why there is no lowering."""


def why_not(kind: str) -> str:
    """Why there is no lowering for an operator."""
    if kind in REASONS:
        return REASONS[kind]
    if kind in FOLDED:
        return "its inputs are no constants"
    domain, dot, _ = kind.rpartition(".")
    if dot:
        return f"operators of the domain {domain} are not standard, and the file does not define it"
    return "this version has no lowering for it"
