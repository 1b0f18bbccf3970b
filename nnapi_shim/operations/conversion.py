"""QUANTIZE, DEQUANTIZE and CAST: type conversions."""

from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.rules import rank_at_most, rank_limit
from nnapi_shim.operations.signatures import F16, F32, I32, QC8, QS8, QU8, elementwise

QSYM8 = OperandType.TENSOR_QUANT8_SYMM

QUANTIZE = elementwise(
    OperationType.QUANTIZE,
    "output = clamp(zero_point + round(input / scale)), halves rounded away from zero.",
    {
        "f32_qu8": (3, F32, QU8),
        "f16_qu8": (3, F16, QU8),
        "f32_qs8": (4, F32, QS8),
        "f16_qs8": (4, F16, QS8),
    },
    allow_zero_sized=True,
    infinite_scales=True,
    work=2,
)

DEQUANTIZE = elementwise(
    OperationType.DEQUANTIZE,
    "output = scale * (input - zero_point); per-channel scales by index along their dimension.",
    {
        "qu8_f32": (1, QU8, F32),
        "qu8_f16": (3, QU8, F16),
        "qsym8_f32": (3, QSYM8, F32),
        "qsym8_f16": (3, QSYM8, F16),
        "qc8_f32": (3, QC8, F32),
        "qc8_f16": (3, QC8, F16),
        "qs8_f32": (4, QS8, F32),
        "qs8_f16": (4, QS8, F16),
    },
    # Differs: the documentation has no limit on the rank; the reference has.
    rules=[rank_at_most(4, "input")],
    checks=[rank_limit(4, "input")],
    allow_zero_sized=True,
    infinite_scales=True,
    work=2,
)


def same_dimensions(op: BoundOperation) -> None:
    """An output that is fully known has the dimensions of an input whose rank is known.

    As in the reference, an unknown size of the input differs from every size.
    """
    output, input = op.output.dimensions, op.input.dimensions
    if output and input and 0 not in output and output != input:
        raise bad_data(
            f"output has dimensions {list(output)}; input has {list(input)}", "cast.dimensions"
        )


NUMBERS = {"f16": F16, "f32": F32, "i32": I32, "qu8": QU8}
"""Converted into each other. Differs: the documentation has TENSOR_INT32 to itself since level 4;
the reference accepts it since level 3.
"""

COPIED = {
    "b8": OperandType.TENSOR_BOOL8,
    "qu16": OperandType.TENSOR_QUANT16_ASYMM,
    "qs16": OperandType.TENSOR_QUANT16_SYMM,
    "qs8": QS8,
    "qsym8": QSYM8,
}

CAST = elementwise(
    OperationType.CAST,
    "output = the stored elements of input as another type, rounded toward 0; for bytes, clamped "
    "to 0 to 255.",
    {
        **{f"{a}_{b}": (3, NUMBERS[a], NUMBERS[b]) for a in NUMBERS for b in NUMBERS},
        **{f"{name}_{name}": (4, type, type) for name, type in COPIED.items()},
    },
    rules=[same_dimensions],
    legacy=True,
    infinite_scales=True,
    work=0,
)
