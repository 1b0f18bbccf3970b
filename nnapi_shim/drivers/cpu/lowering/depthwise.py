"""DEPTHWISE_CONV_2D as steps: vectors of channels, several pixels of a row at once.

So is a GROUPED_CONV_2D of groups that have one input channel each.
"""

from nnapi_shim.drivers.cpu.lowering.bounds import float_bounds
from nnapi_shim.drivers.cpu.lowering.depthwise_interleaved import blocks, lower_interleaved
from nnapi_shim.drivers.cpu.lowering.gemm_blocking import tiles_of
from nnapi_shim.drivers.cpu.lowering.packing import Filter, is_quantized
from nnapi_shim.drivers.cpu.lowering.rearrange import CONVERT
from nnapi_shim.drivers.cpu.lowering.requantization import FINISH, finish, signed_zero, table
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Buffer, Space, Step, record
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.shapes import Window

DEPTHWISE = record(
    Space.LINES, input=ADDRESS, filter=ADDRESS, bias=ADDRESS, table=ADDRESS, output=ADDRESS,
    rows=INT64, tile_rows=INT64, channels=INT64,
    in_height=INT64, in_width=INT64, out_height=INT64, out_width=INT64,
    filter_height=INT64, filter_width=INT64, stride_height=INT64, stride_width=INT64,
    dilation_height=INT64, dilation_width=INT64, pad_top=INT64, pad_left=INT64,
    input_zero=INT64, **FINISH,
)  # fmt: skip
PACK_DEPTHWISE = record(
    filter=ADDRESS, output=ADDRESS, flip=INT64, zero=INT64,
    filter_height=INT64, filter_width=INT64, channels=INT64, padded=INT64,
)  # fmt: skip
EXPAND = record(
    input=ADDRESS, output=ADDRESS,
    pixels=INT64, channels=INT64, multiplier=INT64, padded=INT64, parts=INT64,
)  # fmt: skip

PRODUCTS_PER_TILE = 1 << 16
"""Multiplications that are worth a tile of their own: 2 us and more."""
FEW_TILES, MOST_TILES = 2, 32
"""Tiles of those that are shared; each has to begin anew, which costs more than in a product."""

EXPANDED_PER_NS = 4
"""Bytes that are written in a nanosecond where channels are repeated."""


def depthwise(
    op: BoundOperation, filter: Filter, window: Window, source: Any, target: Any, tiling: Tiling
) -> list[Step]:
    """filter: [taps, columns]. `source` and `target` are in NHWC order, float32 or quantized."""
    quantized = is_quantized(op)
    element_bytes = 1 if quantized else 4
    channels = filter.columns
    rows = window.batch * window.vertical.output
    tile_rows = _tile_rows(rows, window, channels)
    cut = blocks(op, window, channels, tiling) if quantized else None
    if cut is not None:
        steps: list[Step] = []
        if channels != window.in_depth:
            pixels = window.batch * window.in_height * window.in_width
            expanded, multiplier = Buffer(pixels * channels), channels // window.in_depth
            steps = [_expand(source, expanded, pixels, window.in_depth, multiplier, channels, 1)]
            source = expanded
        return steps + lower_interleaved(op, filter, window, source, target, tile_rows, cut, tiling)
    least = tiling.lanes
    if quantized:
        least *= 2
    elif tiling.masked:
        least = 1
    padded = max(channels, least)
    pixels = window.batch * window.in_height * window.in_width
    outputs = window.batch * window.vertical.output * window.horizontal.output
    steps = []
    after: list[Step] = []
    if padded != window.in_depth:
        expanded = Buffer(pixels * padded * element_bytes)
        multiplier = channels // window.in_depth
        steps.append(
            _expand(source, expanded, pixels, window.in_depth, multiplier, padded, element_bytes)
        )
        source = expanded
    if padded != channels:
        wide = Buffer(outputs * padded * element_bytes)
        after.append(_expand(wide, target, outputs, padded, 1, channels, element_bytes))
        target = wide
    if quantized:
        kind = "qu8" if op.input.type is OperandType.TENSOR_QUANT8_ASYMM else "qs8"
        more, fields = _quantized_fields(op, filter, window, padded)
    else:
        kind = "f32"
        more, fields = _float_fields(op, filter, padded)
    steps += more
    steps.append(
        Step(
            DEPTHWISE,
            f"depthwise_conv_2d_{kind}",
            tiles=-(-rows // tile_rows),
            input=source,
            output=target,
            rows=rows,
            tile_rows=tile_rows,
            channels=padded,
            in_height=window.in_height,
            in_width=window.in_width,
            out_height=window.vertical.output,
            out_width=window.horizontal.output,
            filter_height=window.filter_height,
            filter_width=window.filter_width,
            stride_height=op.stride_height,
            stride_width=op.stride_width,
            dilation_height=op.dilation_height,
            dilation_width=op.dilation_width,
            pad_top=window.vertical.head,
            pad_left=window.horizontal.head,
            **fields,
        )
    )
    return steps + after


def _tile_rows(rows: int, window: Window, channels: int) -> int:
    """Output rows of a tile."""
    row_products = window.horizontal.output * channels * window.filter_height * window.filter_width
    tiles = rows * row_products // PRODUCTS_PER_TILE
    if tiles > 0:
        tiles = min(rows, MOST_TILES, max(FEW_TILES, tiles))
    return -(-rows // max(1, tiles))


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
    """Every channel `multiplier` times, cut or padded with 0 to `padded` channels."""
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
    op: BoundOperation, filter: Filter, padded: int
) -> tuple[list[Step], dict[str, Any]]:
    """The filter is used as it is; float16 is widened, and few channels are padded."""
    steps = []
    low, high = float_bounds(op.activation)
    fields: dict[str, Any] = {
        **dict.fromkeys(FINISH, 0), "table": None, "input_zero": 0, "low": low, "high": high
    }  # fmt: skip
    channels = filter.columns
    for name, place, rows in (("filter", filter.source, filter.taps), ("bias", filter.bias, 1)):
        count = rows * channels
        if filter.operand.type is OperandType.TENSOR_FLOAT16:
            stored, place = place, Buffer(4 * count)
            conversion = {"input": stored, "output": place, "count": count, "parts": 1}
            steps.append(Step(CONVERT, "widen_f16", once=True, **conversion))
        if padded != channels:
            wide = Buffer(4 * rows * padded)
            steps.append(_expand(place, wide, rows, channels, 1, padded, 4, once=True))
            place = wide
        fields[name] = place
    return steps, fields


def _quantized_fields(
    op: BoundOperation, filter: Filter, window: Window, padded: int
) -> tuple[list[Step], dict[str, Any]]:
    """The filter becomes pairs of int16 for two rows at once, its zero point subtracted."""
    channels = filter.columns
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
    step, places = table(factors, signed_zero(op.output)[1])
    return [*steps, step], {
        "filter": packed,
        "bias": bias,
        "table": places,
        "input_zero": op.input.zero_point,
        **finish(op.activation, op.output),
    }
