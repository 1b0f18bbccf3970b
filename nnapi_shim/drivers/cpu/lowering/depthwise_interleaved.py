"""The quantized depthwise convolution from interleaved rows, see codegen/interleave.py.

Outputs are computed in segments of a row whose interleaved input fits into the L1 cache. A block is
a fixed number of adjacent outputs: of one slab of channels, or, if a slab has all channels, of
several `joined` pixels. The last block, slab and segment start earlier instead of passing the end,
and store some values twice.
"""

from math import inf
from struct import pack

from nnapi_shim.drivers.cpu.lowering.depthwise_tiles import DepthwiseWork, fastest
from nnapi_shim.drivers.cpu.lowering.descriptor import ConvolutionDescriptor
from nnapi_shim.drivers.cpu.lowering.packing import (
    QUANTIZED_HEAD_BYTES,
    Filter,
    int8_parts,
)
from nnapi_shim.drivers.cpu.lowering.requantization import (
    FINISH,
    dot_zero,
    finish,
    float64s,
    floored_steps,
    signed_zero,
)
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Buffer, Step, record
from nnapi_shim.hints import Any, NamedTuple, Sequence

DEPTHWISE_INTERLEAVED = record(
    input=ADDRESS, panels=ADDRESS, offsets=ADDRESS, places=ADDRESS, outside=ADDRESS, order=ADDRESS,
    output=ADDRESS,
    rows=INT64, tile_rows=INT64, slab_tiles=INT64, tile_slabs=INT64, channels=INT64,
    in_height=INT64, in_width=INT64, out_height=INT64, out_width=INT64,
    interleaved_height=INT64, rows_together=INT64, stride_height=INT64, stride_width=INT64,
    dilation_height=INT64, pad_top=INT64, pad_left=INT64, taps=INT64,
    slab=INT64, joined=INT64, segment=INT64, plane=INT64, planes=INT64, columns=INT64,
    flip=INT64, input_zero=INT64, **FINISH,
)  # fmt: skip
PACK_INTERLEAVED = record(
    filter=ADDRESS, bias=ADDRESS, multipliers=ADDRESS, output=ADDRESS,
    filter_height=INT64, filter_width=INT64, channels=INT64, parts=INT64, words=INT64,
    rows_together=INT64, row_step=INT64,
    slab=INT64, joined=INT64, flip=INT64, zero=INT64, sum_zero=INT64, zero_point=INT64, steps=INT64,
)  # fmt: skip

BLOCK_VECTORS = 4
"""Vectors of int32 sums in a block, which are narrowed to one vector of bytes."""
INTERLEAVED_WORDS = 4096
"""Words of an interleaved segment, at most; they are on the stack."""
MAX_JOINED = 8
SLAB, PIECE, CALL, TAP, FINISHED = 150, 20, 30, 6, 35
"""Estimated cycles: to start a slab of a segment, to interleave a piece, to start a block, for a
tap of it, and to requantize its sums.
"""


class Blocks(NamedTuple):
    """The blocking of a row. Each of the `planes` of a segment holds every stride-th column."""

    slab: int
    joined: int
    segment: int
    plane: int
    planes: int

    def column(self, at: int, stride: int) -> int:
        """The position of the input column `at` of a segment among the columns of all planes."""
        return at % stride * self.plane + at // stride


def unpacked(words: int) -> list[int]:
    """The permutation of so many 32-bit words that compensates for two unpack instructions on
    128-bit lanes.
    """
    lanes = words // 4
    return [at * lanes + lane for lane in range(lanes) for at in range(4)]


Cut = tuple[float, Blocks]


def cuts(conv: ConvolutionDescriptor, channels: int, tiling: Tiling) -> list[Cut]:
    """For each possible slab: (estimated cycles of a row, best blocking), the cheapest first."""
    window = conv.window
    width = BLOCK_VECTORS * tiling.lanes
    outputs, stride = window.horizontal.output, conv.stride_width
    reach = (window.filter_width - 1) * conv.dilation_width
    planes, further = min(stride, reach + 1), reach // stride
    words = -(-window.filter_height // tiling.group)
    best: list[Cut] = []
    slabs = {channels} | {n * width for n in (1, 2, 4) if n * width < channels}
    for slab in slabs:
        room = (INTERLEAVED_WORDS - width) // (words * planes * slab) - further
        if room < 1:
            continue
        segments = -(-outputs // room)
        is_one_run = slab == channels and (
            stride == 1 or _is_scattered(channels, slab, stride, planes, tiling)
        )
        least, cut = inf, None
        for joined in range(1, MAX_JOINED + 1 if slab == channels else 2):
            segment = -(-outputs // segments)
            segment = min(-(-segment // joined) * joined, outputs)
            if segment > room or segment < joined or joined * slab < width:
                continue
            plane = segment + further
            pieces = -(-joined * slab // width)
            runs, elements = plane * planes, slab
            if is_one_run:
                runs, elements = 1, plane * planes * slab
            whole, rest = divmod(elements, width)
            interleave = words * runs * PIECE * (whole + -(-rest // tiling.lanes))
            groups = -(-segment // joined)
            sums = pieces * (CALL + groups * (words * window.filter_width * TAP + FINISHED))
            cost = -(-channels // slab) * -(-outputs // segment) * (SLAB + interleave + sums)
            if cost < least:
                least, cut = cost, Blocks(slab, joined, segment, plane, planes)
        if cut is not None:
            best.append((least, cut))
    return sorted(best)


def lower_interleaved(
    conv: ConvolutionDescriptor, filter: Filter, source: Any, target: Any,
    row_products: int, choices: Sequence[Cut], tiling: Tiling,
) -> list[Step]:  # fmt: skip
    """filter: [taps, columns]. `source` and `target` are in NHWC order. choices: see `cuts`."""
    window, product = conv.window, conv.product
    channels, stride = filter.columns, conv.stride_width
    words = -(-window.filter_height // tiling.group)
    filter_flip, filter_zero = signed_zero(filter.operand)
    flip, zero = signed_zero(product.input)
    parts, sum_zero = 1, 0
    if tiling.group == 4:
        flip, sum_zero = dot_zero(product.input, tiling)
        parts = int8_parts(filter.operand)
    rows = window.batch * window.vertical.output
    rows_together = _rows_together(conv, words * tiling.group)

    least, _ = choices[0]
    chosen, tiles = fastest(
        [
            DepthwiseWork(
                rows, row_products, -(-channels // each.slab), rows_together, slower=cost / least
            )
            for cost, each in choices
        ]
    )
    _, cut = choices[chosen]
    offsets = _tap_offsets(conv, cut, words) * parts
    columns, vector_offsets = _vector_offsets(conv, channels, cut, tiling)
    step = conv.stride_height
    width = BLOCK_VECTORS * tiling.lanes
    panels = -(-channels // cut.slab) * -(-cut.joined * cut.slab // width)
    packed = Buffer(panels * width * (QUANTIZED_HEAD_BYTES + 4 * rows_together * len(offsets)))
    shared: dict[str, Any] = {
        "channels": channels,
        "slab": cut.slab,
        "joined": cut.joined,
        "rows_together": rows_together,
    }
    return [
        Step(
            PACK_INTERLEAVED,
            "pack_interleaved",
            once=True,
            filter=filter.source,
            bias=filter.bias,
            multipliers=float64s(filter.multipliers),
            output=packed,
            filter_height=window.filter_height,
            filter_width=window.filter_width,
            parts=parts,
            words=words,
            row_step=step,
            flip=filter_flip,
            zero=filter_zero,
            sum_zero=sum_zero,
            zero_point=signed_zero(product.output)[1],
            steps=floored_steps(product, filter.operand, rows * window.horizontal.output),
            **shared,
        ),
        Step(
            DEPTHWISE_INTERLEAVED,
            "depthwise_interleaved",
            tiles=tiles.count(rows),
            input=source,
            panels=packed,
            offsets=pack(f"<{len(offsets)}q", *offsets),
            outside=bytes([product.input.zero_point & 0xFF]) * width,
            order=pack(f"<{width // 4}i", *unpacked(width // 4)),
            output=target,
            rows=rows,
            tile_rows=tiles.rows,
            slab_tiles=tiles.slabs,
            tile_slabs=tiles.units,
            in_height=window.in_height,
            in_width=window.in_width,
            out_height=window.vertical.output,
            out_width=window.horizontal.output,
            interleaved_height=window.filter_height + (rows_together - 1) * step,
            stride_height=step,
            stride_width=stride,
            dilation_height=conv.dilation_height,
            pad_top=window.vertical.head,
            pad_left=window.horizontal.head,
            taps=len(offsets),
            segment=cut.segment,
            plane=cut.plane,
            planes=cut.planes,
            columns=columns,
            places=vector_offsets,
            flip=flip,
            input_zero=zero,
            **shared,
            **finish(product.activation, product.output),
        ),
    ]


def _tap_offsets(conv: ConvolutionDescriptor, cut: Blocks, words: int) -> list[int]:
    """Bytes from a column of interleaved words to those of each tap."""
    return [
        (word * cut.planes * cut.plane + cut.column(at, conv.stride_width)) * 4 * cut.slab
        for word in range(words)
        for at in range(0, conv.window.filter_width * conv.dilation_width, conv.dilation_width)
    ]


def _rows_together(conv: ConvolutionDescriptor, interleaved_rows: int) -> int:
    """Output rows that one set of interleaved words serves: padding has room for further rows."""
    if conv.dilation_height != 1:
        return 1
    further_rows = interleaved_rows - conv.window.filter_height
    return 1 + min(further_rows // conv.stride_height, conv.window.vertical.output - 1)


def _is_scattered(channels: int, slab: int, stride: int, planes: int, tiling: Tiling) -> bool:
    """Whether the columns of a segment are contiguous whole vectors of several planes."""
    return slab == channels and planes == stride > 1 and channels % tiling.lanes == 0


def _vector_offsets(
    conv: ConvolutionDescriptor, channels: int, cut: Blocks, tiling: Tiling
) -> tuple[int, bytes | None]:
    """The number of input columns of a segment, and, if `_is_scattered`, the target offset of each
    of their vectors.
    """
    stride = conv.stride_width
    columns = (cut.segment - 1) * stride + (conv.window.filter_width - 1) * conv.dilation_width + 1
    if not _is_scattered(channels, cut.slab, stride, cut.planes, tiling):
        return columns, None
    vector_offsets = [
        4 * (cut.column(at, stride) * channels + first)
        for at in range(columns)
        for first in range(0, channels, tiling.lanes)
    ]
    return columns, pack(f"<{len(vector_offsets)}q", *vector_offsets)
