"""QUANTIZE, DEQUANTIZE and CAST as steps."""

from math import prod
from struct import pack

from nnapi_shim.drivers.cpu.lowering.elements import ELEMENTS, MAP, TILE, element_wise, shared
from nnapi_shim.drivers.cpu.lowering.images import convert
from nnapi_shim.drivers.cpu.program.record import (
    ADDRESS,
    FLOAT32,
    INT64,
    Alias,
    Space,
    Step,
    record,
)
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hal.types import element_count
from nnapi_shim.operations.declare import BoundOperation

QUANTIZE = record(
    Space.ELEMENTS, input=ADDRESS, output=ADDRESS, **ELEMENTS,
    scale=FLOAT32, low=FLOAT32, high=FLOAT32, zero_point=INT64,
)  # fmt: skip
DEQUANTIZE = record(
    Space.ELEMENTS, input=ADDRESS, output=ADDRESS, **ELEMENTS, scale=FLOAT32, zero_point=FLOAT32
)
DEQUANTIZE_CHANNELS = record(
    input=ADDRESS, output=ADDRESS, scales=ADDRESS,
    rows=INT64, channels=INT64, length=INT64, tile_rows=INT64,
)  # fmt: skip


def lower_quantize(op: BoundOperation) -> list[Step]:
    """Signed and unsigned outputs use the same kernel with other bounds (less the zero point)."""
    source, _ = op.variant.split("_")
    target = op.output
    lowest, highest = QUANTIZED_RANGE[target.type]
    count = element_count(target.dimensions)
    # More than twice as fast. The reciprocals of other scales are no normal numbers.
    has_reciprocal = source == "f32" and 2.0**-100 <= target.scale <= 2.0**100
    type = "qu8" if lowest == 0 else "qs8"
    step = Step(
        QUANTIZE,
        f"quantize_by_reciprocal_f32_{type}" if has_reciprocal else f"quantize_{source}_b8",
        input=op.input,
        output=target,
        **shared(count),
        scale=target.scale,
        low=lowest - target.zero_point,
        high=highest - target.zero_point,
        zero_point=target.zero_point,
    )
    return [step]


def lower_dequantize(op: BoundOperation) -> list[Step]:
    """Symmetric types are signed with zero point 0."""
    if op.input.channel_quant is not None:
        return [_dequantize_channels(op)]
    source, target = op.variant.split("_")
    count = element_count(op.output.dimensions)
    step = Step(
        DEQUANTIZE,
        f"dequantize_{'qu8' if source == 'qu8' else 'qs8'}_{target}",
        input=op.input,
        output=op.output,
        **shared(count),
        scale=op.input.scale,
        zero_point=op.input.zero_point,
    )
    return [step]


def lower_cast(op: BoundOperation) -> list[Step | Alias]:
    """Casts stored values; quantized bytes are integers from 0 to 255."""
    source, target = op.variant.split("_")
    if source == target:
        return [Alias(op.input, op.output)]
    if {source, target} == {"f32", "f16"}:
        kernel = "widen_f16" if source == "f16" else "narrow_f16"
        return [convert(kernel, op.input, op.output, element_count(op.output.dimensions))]
    if source == "qu8" and target != "i32":
        return [element_wise(DEQUANTIZE, f"dequantize_qu8_{target}", op, scale=1, zero_point=0)]
    # Kernels read bytes as u8, and write them as b8.
    names = source.replace("qu8", "u8"), target.replace("qu8", "b8")
    return [element_wise(MAP, f"cast_{names[0]}_{names[1]}", op)]


def _dequantize_channels(op: BoundOperation) -> Step:
    """View the input as [rows, channels, length]."""
    quant, dimensions = op.input.channel_quant, op.input.dimensions
    assert quant is not None
    rows, channels, length = (
        prod(dimensions[: quant.channel_dim]),
        dimensions[quant.channel_dim],
        prod(dimensions[quant.channel_dim + 1 :]),
    )
    tile_rows = max(1, TILE // (channels * length))
    return Step(
        DEQUANTIZE_CHANNELS,
        f"dequantize_{op.variant}",
        tiles=-(-rows // tile_rows),
        input=op.input,
        output=op.output,
        scales=pack(f"<{channels}f", *quant.scales),
        rows=rows,
        channels=channels,
        length=length,
        tile_rows=tile_rows,
    )
