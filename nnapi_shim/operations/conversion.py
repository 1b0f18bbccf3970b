"""QUANTIZE and DEQUANTIZE: between real and quantized numbers."""

from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.operations.declare import Operation, form
from nnapi_shim.operations.rules import rank_at_most, rank_limit
from nnapi_shim.operations.signatures import F16, F32, QC8, QS8, QU8

QSYM8 = OperandType.TENSOR_QUANT8_SYMM

QUANTIZE = Operation(
    OperationType.QUANTIZE,
    doc="output = clamp(zero_point + round(input / scale)), halves rounded away from zero.",
    columns="input -> output",
    types={
        "f32_qu8": (3, F32, QU8),
        "f16_qu8": (3, F16, QU8),
        "f32_qs8": (4, F32, QS8),
        "f16_qs8": (4, F16, QS8),
    },
    forms=[form("input")],
    allow_zero_sized=True,
    shape=lambda op: [op.input.dimensions],
)

DEQUANTIZE = Operation(
    OperationType.DEQUANTIZE,
    doc="output = scale * (input - zero_point); per-channel scales by index along their dimension.",
    columns="input -> output",
    types={
        "qu8_f32": (1, QU8, F32),
        "qu8_f16": (3, QU8, F16),
        "qsym8_f32": (3, QSYM8, F32),
        "qsym8_f16": (3, QSYM8, F16),
        "qc8_f32": (3, QC8, F32),
        "qc8_f16": (3, QC8, F16),
        "qs8_f32": (4, QS8, F32),
        "qs8_f16": (4, QS8, F16),
    },
    forms=[form("input")],
    # Differs: the documentation has no limit on the rank; the reference has.
    rules=[rank_at_most(4, "input")],
    checks=[rank_limit(4, "input")],
    allow_zero_sized=True,
    shape=lambda op: [op.input.dimensions],
)
