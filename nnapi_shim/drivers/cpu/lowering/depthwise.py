"""DEPTHWISE_CONV_2D as steps: vectors of channels, several pixels of a row at once.

GROUPED_CONV_2D with one input channel per group is lowered here, too.
"""

from nnapi_shim.drivers.cpu.isa.tier import Tier
from nnapi_shim.drivers.cpu.lowering.bounds import float_bounds
from nnapi_shim.drivers.cpu.lowering.depthwise_interleaved import cuts, lower_interleaved
from nnapi_shim.drivers.cpu.lowering.depthwise_tiles import DepthwiseWork, divided
from nnapi_shim.drivers.cpu.lowering.descriptor import ConvolutionDescriptor
from nnapi_shim.drivers.cpu.lowering.gemm_blocking import tiles_of
from nnapi_shim.drivers.cpu.lowering.images import CONVERT
from nnapi_shim.drivers.cpu.lowering.packing import Filter
from nnapi_shim.drivers.cpu.lowering.requantization import FINISH, finish, signed_zero, table
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling, tier
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Buffer, Space, Step, record
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hints import Any

_FIELDS = dict(
    input=ADDRESS, filter=ADDRESS, bias=ADDRESS, table=ADDRESS, output=ADDRESS,
    rows=INT64, tile_rows=INT64, channels=INT64, slabs=INT64, slab=INT64,
    in_height=INT64, in_width=INT64, out_height=INT64, out_width=INT64,
    filter_height=INT64, filter_width=INT64, stride_height=INT64, stride_width=INT64,
    dilation_height=INT64, dilation_width=INT64, pad_top=INT64, pad_left=INT64,
    input_zero=INT64, **FINISH,
)  # fmt: skip
DEPTHWISE = record(Space.LINES, **_FIELDS)
"""A tile is tile_rows rows of outputs, and one of so many slabs of `slab` channels."""
SLIDING_DEPTHWISE = record(**_FIELDS)
"""That of the kernel SLIDING, whose tiles are not cut for the step behind it: of few rows it would
read most input rows again, and that costs more than the result that is not in the cache.
"""
PACK_DEPTHWISE = record(
    filter=ADDRESS, output=ADDRESS, flip=INT64, zero=INT64,
    filter_height=INT64, filter_width=INT64, channels=INT64, padded=INT64,
)  # fmt: skip
EXPAND = record(
    input=ADDRESS, output=ADDRESS,
    pixels=INT64, channels=INT64, multiplier=INT64, padded=INT64, parts=INT64,
)  # fmt: skip

SLIDING = "depthwise_conv_2d_sliding_f32"
"""The kernel of 3x3 with stride 1 that reads an input row once for all output rows of a tile."""

CALL_UNITS = 0.5
"""What a call of the micro-kernel costs, in vectors of channels that it takes at once."""

EXPANDED_PER_NS = 4
"""Bytes per nanosecond that the expansion of channels writes."""


def depthwise(
    conv: ConvolutionDescriptor, filter: Filter, source: Any, target: Any, tiling: Tiling
) -> list[Step]:
    """filter: [taps, columns]. `source` and `target` are in NHWC order, float32 or quantized."""
    window, quantized = conv.window, conv.product.quantized
    element_bytes = 1 if quantized else 4
    channels = filter.columns
    rows = window.batch * window.vertical.output
    is_sliding = not quantized and slides(conv, channels, tiling)
    row_products = window.horizontal.output * channels * window.filter_height * window.filter_width
    choices = cuts(conv, channels, tiling) if quantized else []
    padded = channels if choices else max(channels, _least_channels(quantized, tiling))
    pixels = window.batch * window.in_height * window.in_width
    steps: list[Step] = []
    after: list[Step] = []
    if padded != window.in_depth:
        expanded = Buffer(pixels * padded * element_bytes)
        multiplier = channels // window.in_depth
        steps.append(
            _expand(source, expanded, pixels, window.in_depth, multiplier, padded, element_bytes)
        )
        source = expanded
    if choices:
        interleaved = lower_interleaved(conv, filter, source, target, row_products, choices, tiling)
        return steps + interleaved
    outputs = window.batch * window.vertical.output * window.horizontal.output
    if padded != channels:
        wide = Buffer(outputs * padded * element_bytes)
        after.append(_expand(wide, target, outputs, padded, 1, channels, element_bytes))
        target = wide
    if quantized:
        kind = "qu8" if conv.product.input.type is OperandType.TENSOR_QUANT8_ASYMM else "qs8"
        more, fields = _quantized_fields(conv, filter, padded)
    else:
        kind = "f32"
        more, fields = _float_fields(conv, filter, padded)
    steps += more
    unit = (
        _least_channels(quantized, tiling) if quantized else tiling.lanes * tiling.channel_vectors
    )
    together = rows if is_sliding else 1
    units = -(-padded // unit)
    work = DepthwiseWork(rows, row_products, units, together, CALL_UNITS, is_sliding=is_sliding)
    _, tiles = divided(work)
    steps.append(
        Step(
            SLIDING_DEPTHWISE if is_sliding else DEPTHWISE,
            SLIDING if is_sliding else f"depthwise_conv_2d_{kind}",
            tiles=tiles.count(rows),
            input=source,
            output=target,
            rows=rows,
            tile_rows=tiles.rows,
            channels=padded,
            slabs=tiles.slabs,
            slab=tiles.units * unit,
            in_height=window.in_height,
            in_width=window.in_width,
            out_height=window.vertical.output,
            out_width=window.horizontal.output,
            filter_height=window.filter_height,
            filter_width=window.filter_width,
            stride_height=conv.stride_height,
            stride_width=conv.stride_width,
            dilation_height=conv.dilation_height,
            dilation_width=conv.dilation_width,
            pad_top=window.vertical.head,
            pad_left=window.horizontal.head,
            **fields,
        )
    )
    return steps + after


def _least_channels(quantized: bool, tiling: Tiling) -> int:
    """The smallest number of channels of the micro-kernel; fewer are padded."""
    if quantized:
        return 2 * tiling.lanes
    return 1 if tiling.masked else tiling.lanes


def has_sliding(candidate: Tier) -> bool:
    """Whether a tier has the kernel SLIDING: its sums and weights are 30 vectors.

    AArch64 has as many registers, but nothing was measured there.
    """
    return candidate.registers == 32 and candidate.tiling.masked


def slides(conv: ConvolutionDescriptor, channels: int, tiling: Tiling) -> bool:
    """Whether the kernel SLIDING can compute a convolution of floats."""
    window = conv.window
    sizes = (window.filter_height, window.filter_width)
    steps = (conv.stride_height, conv.stride_width, conv.dilation_height, conv.dilation_width)
    is_small = sizes == (3, 3) and steps == (1, 1, 1, 1)
    return is_small and channels >= tiling.lanes and has_sliding(tier())


def _expand(
    source: Any,
    target: Any,
    pixels: int,
    channels: int,
    multiplier: int,
    padded: int,
    element_bytes: int,
    once: bool = False,
) -> Step:
    """Repeat every channel `multiplier` times, then truncate or zero-pad to `padded` channels."""
    parts = 1 if once else min(pixels, tiles_of(pixels * padded * element_bytes // EXPANDED_PER_NS))
    return Step(
        EXPAND,
        f"expand_{8 * element_bytes}",
        tiles=parts,
        once=once,
        input=source,
        output=target,
        pixels=pixels,
        channels=channels,
        multiplier=multiplier,
        padded=padded,
        parts=parts,
    )


def _float_fields(
    conv: ConvolutionDescriptor, filter: Filter, padded: int
) -> tuple[list[Step], dict[str, Any]]:
    """The float filter: float16 is widened, and few channels are zero-padded."""
    steps = []
    low, high = float_bounds(conv.product.activation)
    fields: dict[str, Any] = {
        **dict.fromkeys(FINISH, 0), "table": None, "input_zero": 0, "low": low, "high": high
    }  # fmt: skip
    channels = filter.columns
    for name, source, rows in (("filter", filter.source, filter.taps), ("bias", filter.bias, 1)):
        count = rows * channels
        if filter.operand.type is OperandType.TENSOR_FLOAT16:
            stored, source = source, Buffer(4 * count)
            conversion = {"input": stored, "output": source, "count": count, "parts": 1}
            steps.append(Step(CONVERT, "widen_f16", once=True, **conversion))
        if padded != channels:
            wide = Buffer(4 * rows * padded)
            steps.append(_expand(source, wide, rows, channels, 1, padded, 4, once=True))
            source = wide
        fields[name] = source
    return steps, fields


def _quantized_fields(
    conv: ConvolutionDescriptor, filter: Filter, padded: int
) -> tuple[list[Step], dict[str, Any]]:
    """The quantized filter, packed as pairs of int16 for two rows, less its zero point."""
    window, channels = conv.window, filter.columns
    flip, zero = signed_zero(filter.operand)
    packed = Buffer(2 * filter.taps * padded * 4)
    steps = [
        Step(
            PACK_DEPTHWISE,
            "pack_depthwise",
            once=True,
            filter=filter.source,
            output=packed,
            flip=flip,
            zero=zero,
            filter_height=window.filter_height,
            filter_width=window.filter_width,
            channels=channels,
            padded=padded,
        )
    ]
    bias = filter.bias
    if padded != channels:
        bias = Buffer(4 * padded)
        steps.append(_expand(filter.bias, bias, 1, channels, 1, padded, 4, once=True))
    factors = [*filter.multipliers, *[0.0] * (padded - channels)]
    step, table_buffer = table(factors, signed_zero(conv.product.output)[1])
    return [*steps, step], {
        "filter": packed,
        "bias": bias,
        "table": table_buffer,
        "input_zero": conv.product.input.zero_point,
        **finish(conv.product.activation, conv.product.output),
    }
