"""Convolutions of few channels as matrix products (im2row): a filter row reads contiguous memory.

With 1 to 4 channels, a tap is at most a word, and an offset table per tap would dominate. Here a
whole filter row is the depth of the product: the image is copied with padded rows, so that a filter
row reads consecutive bytes. Products of bytes do so with more channels, too: a tap of 16 channels
takes four words as dot products, and the addresses of its rows a fifth of the instructions. With
few output columns, several adjacent pixels are joined to one row of the product, to fill the lanes;
the joined filter has zeros where a pixel reads nothing. This is exact for integers only: for
floats, 0 times NaN would be NaN.

For u8 x s8, a filter with a zero point is split into several int8 taps that read the same input and
whose sum is weight - zero.
"""

from nnapi_shim.drivers.cpu.lowering.descriptor import ConvolutionDescriptor
from nnapi_shim.drivers.cpu.lowering.gemm import multiplied_with
from nnapi_shim.drivers.cpu.lowering.gemm_blocking import tiles_of
from nnapi_shim.drivers.cpu.lowering.packing import Filter, Input, int8_parts
from nnapi_shim.drivers.cpu.lowering.requantization import dot_zero, signed_zero
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling
from nnapi_shim.drivers.cpu.lowering.windows import View, view_rows
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Buffer, Step, record
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperand
from nnapi_shim.operations.shapes import Window

PAD_ROWS = record(
    input=ADDRESS, output=ADDRESS, parts=INT64, rows=INT64, in_rows=INT64, top=INT64, row=INT64,
    pitch=INT64, before=INT64, fill=INT64, flip=INT64, zero=INT64,
)  # fmt: skip
"""top: output rows above the first input row. row, pitch, before: elements of an input row, of an
output row, and of the leading padding.
"""
FOLD_FILTER = record(
    filter=ADDRESS, output=ADDRESS, columns=INT64, rows=INT64, row=INT64, parts=INT64,
    joined=INT64, step=INT64, depth=INT64, fill=INT64, flip=INT64, zero=INT64,
)  # fmt: skip

MAX_CHANNELS = 4
MAX_DEPTH = 64
"""Elements of a filter row, at most; longer rows are efficient without im2row."""
MAX_WORDS = 16
"""Words of a tap, at most, for products of bytes: the copy of an image with more would take as
long as the addresses that it saves.
"""
PADDED_PER_NS = 8
"""Bytes of the copy per nanosecond."""
WASTE = 32
"""One in so many rows of the product, at most, may be multiplied twice so that tables are small."""
ROW_COST, VECTOR_COST = 12, 8
"""Cost of the epilogue per row of sums and per vector, in vector multiplications."""


def is_foldable(conv: ConvolutionDescriptor) -> bool:
    """Whether a filter row is contiguous in the image, and short enough for im2row."""
    window = conv.window
    return (
        window.in_depth <= MAX_CHANNELS
        and 1 < window.filter_width * window.in_depth <= MAX_DEPTH
        and _is_contiguous(conv)
    )


def has_few_words(conv: ConvolutionDescriptor, tiling: Tiling) -> bool:
    """Whether a filter row of bytes is contiguous in the image, and its taps are a few words."""
    window, quantized = conv.window, conv.product.quantized
    return (
        quantized
        and window.filter_width > 1
        and window.in_depth <= tiling.group * MAX_WORDS
        and _parts(conv.filter, tiling) == 1
        and _is_contiguous(conv)
    )


def _is_contiguous(conv: ConvolutionDescriptor) -> bool:
    return conv.dilation_width == 1 and conv.stride_width <= conv.window.filter_width


def _parts(filter: BoundOperand, tiling: Tiling) -> int:
    """The number of taps that a tap of bytes becomes: int16 have room for the zero point."""
    return int8_parts(filter) if tiling.group == 4 else 1


def folded(
    conv: ConvolutionDescriptor, filter: Filter, source: Any, target: Any, tiling: Tiling
) -> list[Step]:
    """filter: [columns, taps, channels]. `source` and `target` are in NHWC order."""
    window, quantized = conv.window, conv.product.quantized
    group = tiling.group if quantized else 1
    parts = _parts(filter.operand, tiling) if quantized else 1
    joined = _joined(conv, filter, parts, tiling) if quantized else 1
    step, depth = _reach(conv, joined)
    words = -(-depth // group)
    out_width = window.horizontal.output // joined
    in_width = out_width - 1 + -(-words * group // step)
    # The offsets of one output row serve all others if rows above and below the image are copied.
    by_rows = _is_by_rows(window, out_width, tiling)
    height, top, images, out_height = window.in_height, 0, window.batch, window.vertical.output
    if by_rows:
        height = (out_height - 1) * conv.stride_height + 1
        height += (window.filter_height - 1) * conv.dilation_height
        top, images, out_height = window.vertical.head, out_height, 1
    input = _padded_rows(conv, source, step, in_width, height, top, words, tiling)
    steps = []
    if joined > 1 or parts > 1:
        more, filter = _folded_filter(conv, filter, joined, parts, tiling)
        steps += more
    view = View(
        out_height,
        out_width,
        height,
        in_width,
        window.filter_height,
        parts,
        conv.stride_height,
        dilation_height=conv.dilation_height,
        dilation_width=0,
        pad_top=window.vertical.head - top,
    )
    table, rows = view_rows(view, input, images, tiling)
    if by_rows:
        rows = rows._replace(image_bytes=conv.stride_height * in_width * input.row_bytes)
    filter = filter._replace(taps=rows.taps)
    return [
        *steps,
        *table,
        *multiplied_with(conv.product, filter, input, rows, depth, target, tiling),
    ]


def _is_by_rows(window: Window, out_width: int, tiling: Tiling) -> bool:
    """Whether each output row is multiplied as an image of its own: with the same micro-kernel, and
    nearly as many tiles as the whole image has.
    """
    tile_rows = tiling.tile_rows(out_width)
    tiles = -(-out_width // tile_rows)
    return (
        window.batch == 1
        and tile_rows == tiling.tile_rows(window.vertical.output * out_width)
        and (tiles * tile_rows - out_width) * WASTE <= out_width
    )


def _reach(conv: ConvolutionDescriptor, joined: int) -> tuple[int, int]:
    """(stride, size) in elements of the input window of `joined` outputs."""
    window = conv.window
    stride = conv.stride_width * window.in_depth
    return joined * stride, (joined - 1) * stride + window.filter_width * window.in_depth


def _joined(conv: ConvolutionDescriptor, filter: Filter, parts: int, tiling: Tiling) -> int:
    """The number of joined outputs with the lowest cost of multiplications and epilogues."""
    window = conv.window

    def cost(count: int) -> float:
        vectors = -(-count * filter.columns // tiling.lanes)
        words = -(-_reach(conv, count)[1] // tiling.group)
        return (vectors * (window.filter_height * parts * words + VECTOR_COST) + ROW_COST) / count

    most = max(1, tiling.columns // filter.columns)
    width = window.horizontal.output
    return min((n for n in range(1, most + 1) if n == 1 or width % n == 0), key=cost)


def _padded_rows(
    conv: ConvolutionDescriptor,
    source: Any,
    step: int,
    in_width: int,
    height: int,
    top: int,
    words: int,
    tiling: Tiling,
) -> Input:
    """A copy of each image with `height` rows of in_width * step elements, of which `top` are above
    the image; `words` of one are multiplied.
    """
    window, product = conv.window, conv.product
    pitch = in_width * step
    values: dict[str, Any] = {"fill": 0, "flip": 0, "zero": 0}
    outside, rest = bytes(4 * words), dict[str, Any]()
    kernel, size, scale = "pad_rows_8", 1, 1  # bytes per element, elements per channel
    if not product.quantized:
        scale = 4
    else:
        flip, zero = signed_zero(product.input)
        if tiling.group == 2:
            kernel, size = "pad_rows_s16", 2
            values |= {"flip": flip, "zero": zero}
            rest = {"sums": "row_sums_s16"}
        else:
            # The copy has the bytes that dot products take, which need no XOR then.
            flip, zero = dot_zero(product.input, tiling)
            values |= {"fill": zero & 0xFF, "flip": flip}
            kernel = "pad_rows_flipped"
            outside = bytes([values["fill"]]) * (4 * words)
            rest = {"zero": zero}
    rows = window.batch * height
    length = rows * pitch * scale * size
    buffer = Buffer(length)
    parts = min(rows, tiles_of(length // PADDED_PER_NS))
    pad_step = Step(
        PAD_ROWS,
        kernel,
        tiles=parts,
        input=source,
        output=buffer,
        parts=parts,
        rows=rows,
        in_rows=window.batch * window.in_height,
        top=top,
        row=window.in_width * window.in_depth * scale,
        pitch=pitch * scale,
        before=window.horizontal.head * window.in_depth * scale,
        **values,
    )
    return Input([pad_step], buffer, step * scale * size, words, outside, **rest)


def _folded_filter(
    conv: ConvolutionDescriptor, filter: Filter, joined: int, parts: int, tiling: Tiling
) -> tuple[list[Step], Filter]:
    """The filter of `joined` outputs: [joined, columns, filter rows, parts, depth]."""
    from nnapi_shim.drivers.cpu.lowering.strided import Axis, copied

    window = conv.window
    step, depth = _reach(conv, joined)
    row = window.filter_width * window.in_depth
    columns, operand = filter.columns, filter.operand
    flip = zero = fill = 0
    if tiling.group == 4:
        flip, zero = signed_zero(operand)
        kind = OperandType.TENSOR_QUANT8_ASYMM_SIGNED
        operand = BoundOperand(operand.index, kind, operand.dimensions)
    else:
        fill = operand.zero_point & 0xFF
    buffer = Buffer(joined * columns * window.filter_height * parts * depth)
    bias = Buffer(joined * columns * 4)
    steps = [
        Step(
            FOLD_FILTER,
            "fold_filter",
            once=True,
            filter=filter.source,
            output=buffer,
            columns=columns,
            rows=window.filter_height,
            row=row,
            parts=parts,
            joined=joined,
            step=step // joined,
            depth=depth,
            fill=fill,
            flip=flip,
            zero=zero,
        ),
        copied(
            filter.bias, bias, [Axis(joined, 0, 4 * columns), Axis(columns, 4, 4)], 4, once=True
        ),
    ]
    return steps, filter._replace(
        source=buffer,
        bias=bias,
        columns=joined * columns,
        operand=operand,
        multipliers=[*filter.multipliers] * joined,
    )
