"""Packing of filters and inputs into the layout of the micro-kernels.

A filter [columns, taps, depth] is partitioned into panels of the micro-kernel's width, stored word
by word of the depth. A panel begins with the bias and, if quantized, the multipliers of its columns
(requantization.py). Constant filters are packed at compilation.

The layout of quantized inputs depends on the tier. For s16 x s16, inputs and weights are widened to
int16 less their zero points, without further correction. For dot products (u8 x s8 or s8 x s8),
bytes are multiplied as stored, which needs corrections:

    sum((x - zx) * (w - zw)) = sum(x * w) - zx * sum(w) + count * zx * zw - zw * sum(x)

The corrections with sum(w) and count are part of the bias; the one with sum(x) is added per row,
and is 0 for symmetric filters.
"""

from math import prod

from nnapi_shim.drivers.cpu.lowering.descriptor import ProductDescriptor
from nnapi_shim.drivers.cpu.lowering.gemm_blocking import tiles_of
from nnapi_shim.drivers.cpu.lowering.requantization import (
    COLUMN_BYTES,
    dot_zero,
    float64s,
    signed_zero,
)
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling, round_up
from nnapi_shim.drivers.cpu.lowering.weight_format import BYTES, FLOAT16, FLOAT32, scales
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Buffer, Step, record
from nnapi_shim.hints import Any, NamedTuple, Sequence
from nnapi_shim.operations.declare import BoundOperand
from nnapi_shim.operations.rules import float32s

PACK_FLOAT = record(
    filter=ADDRESS,
    bias=ADDRESS,
    output=ADDRESS,
    columns=INT64,
    depth=INT64,
    width=INT64,
    lanes=INT64,
)
"""A tile is a panel."""
PACK_WIDENED = record(
    filter=ADDRESS,
    bias=ADDRESS,
    scales=ADDRESS,
    output=ADDRESS,
    columns=INT64,
    depth=INT64,
    width=INT64,
    lanes=INT64,
    flip=INT64,
)
"""8-bit weights of a float32 product, which are int8 after XOR with `flip`. A tile is a panel."""
PACK_MATRIX = record(
    filter=ADDRESS,
    output=ADDRESS,
    columns=INT64,
    depth=INT64,
    width=INT64,
    lanes=INT64,
    panels=INT64,
)
"""A tile is one panel of one of the matrices."""
PACK_QUANTIZED = record(
    filter=ADDRESS,
    bias=ADDRESS,
    multipliers=ADDRESS,
    output=ADDRESS,
    columns=INT64,
    taps=INT64,
    depth=INT64,
    width=INT64,
    lanes=INT64,
    group=INT64,
    flip=INT64,
    filter_zero=INT64,
    input_zero=INT64,
    matrix_bytes=INT64,
    zero_point=INT64,
    steps=INT64,
    panels=INT64,
)
"""zero_point: of the output as int8. steps: of write_table (codegen/floored.py). matrix_bytes:
stride of the packed matrices. A tile is a panel of one of the matrices."""
PREPARE = record(
    input=ADDRESS,
    output=ADDRESS,
    parts=INT64,
    rows=INT64,
    depth=INT64,
    pitch=INT64,
    flip=INT64,
    zero=INT64,
)

FLOAT_HEAD_BYTES = 4
QUANTIZED_HEAD_BYTES = 4 + COLUMN_BYTES
"""Bytes per column at the start of a panel: the bias, and the requantization constants."""

PREPARED_PER_NS = 6
"""Bytes of prepared input per nanosecond."""


class Terms(NamedTuple):
    """How a filter is multiplied in pairs of bytes: see byte_pairs.py.

    most: the largest number of further terms of a panel. together: words whose sums of pairs are
    added in 16 bits.
    """

    most: int
    together: int


class Shifted(NamedTuple):
    """The words of a filter, at most so many in a panel: see shifted_words.py.

    forms: of the input row; 2 where there are words of the complemented one.
    """

    words: int
    forms: int
    plan: bytes
    lists: bytes


class Input(NamedTuple):
    """Input rows in the layout of the micro-kernels: `source`, after `steps` have run.

    row_bytes, words: bytes of a row, and the number of its 32-bit words that are multiplied.
    outside: a row of zero points, which taps outside of the image read.
    zero: zero point of the values after XOR of every byte with `flip`; 0 if it is subtracted.
    sums: the kernel that sums rows. terms: see byte_pairs.py, shifted: see shifted_words.py; None
    for other products.
    """

    steps: list[Step]
    source: Any
    row_bytes: int
    words: int
    outside: bytes
    zero: int = 0
    flip: int = 0
    sums: str = ""
    terms: Terms | None = None
    shifted: Shifted | None = None

    @property
    def adds_nothing_outside(self) -> bool:
        """Whether the products of `outside` are 0."""
        is_complemented = self.shifted is not None and self.shifted.forms == 2
        return self.zero == 0 and not is_complemented


class Filter(NamedTuple):
    """A filter [columns, taps, depth] and its bias [columns]: operands, parts of them or Buffers.

    operand: has the type and zero point of the filter. multipliers: per column, if quantized.
    matrices: number of contiguous filters, one per image of the input.
    depth_first: the layout is [depth, columns], float32 without a bias.
    """

    source: Any
    bias: Any
    columns: int
    taps: int
    operand: BoundOperand
    multipliers: Sequence[float] = ()
    matrices: int = 1
    depth_first: bool = False


class Packed(NamedTuple):
    """A packed filter: `buffer`, after `step` has run. corrected: needs no correction per row.

    image_bytes: stride of the filters of images; 0 if all images share one filter.
    """

    step: Step
    buffer: Buffer
    columns: int
    panels: int
    panel_bytes: int
    image_bytes: int
    corrected: bool


def int8_parts(filter: BoundOperand) -> int:
    """The number of int8 summands that represent any weight less the zero point."""
    _, zero = signed_zero(filter)
    return 1 if zero == 0 else 2 if zero > -128 else 3  # 127 + 128 is 255


def multipliers(product: ProductDescriptor, filter: BoundOperand, columns: int) -> Sequence[float]:
    """Per output channel: input.scale * filter.scale / output.scale (semantics.md 5.4)."""
    quant = filter.channel_quant
    scales = quant.scales if quant else [filter.scale]
    input_scale, output_scale = product.input.scale, product.output.scale
    products = float32s([input_scale * scale for scale in scales])
    factors = [each / output_scale for each in products]
    return factors if quant else factors * columns


def dot_sums(tiling: Tiling) -> str:
    """The kernel that sums rows of bytes as dot products take them."""
    return "row_sums_s8" if tiling.signed_dots else "row_sums_u8"


def whole_filter(product: ProductDescriptor, operand: BoundOperand) -> Filter:
    """The Filter of an operand [columns, ..., depth] and the bias of the product."""
    columns = operand.dimensions[0]
    factors = multipliers(product, operand, columns) if product.quantized else ()
    return Filter(operand, product.bias, columns, prod(operand.dimensions[1:-1]), operand, factors)


def prepared_input(
    product: ProductDescriptor,
    source: Any,
    rows: int,
    depth: int,
    tiling: Tiling,
    terms: Terms | None = None,
    shifted: Shifted | None = None,
) -> Input:
    """The Input of rows of `depth` elements; float16 must be widened before. terms, shifted:
    of the filter.
    """
    if not product.quantized:
        return Input([], source, 4 * depth, depth, bytes(4 * depth))
    in_bytes = terms is not None or shifted is not None
    words = -(-depth // (4 if in_bytes else tiling.group))
    row_bytes = shifted.forms * depth if shifted is not None else 4 * words
    flip, zero = signed_zero(product.input)
    if in_bytes:
        kernel, flip = "prepare_u8", 0x80 ^ flip
        outside = bytes([zero + 128]) * row_bytes
        if shifted is not None and shifted.forms == 2:
            kernel = "prepare_complemented"
            outside = outside[:depth] + (bytes([zero + 128, 127 - zero]) * depth)[:depth]
        prepared = Input([], source, row_bytes, words, outside, zero + 128)
        prepared = prepared._replace(terms=terms, shifted=shifted)
        if row_bytes == depth and not flip:
            return prepared
    elif tiling.group == 2:
        kernel = "prepare_s16"
        prepared = Input([], source, row_bytes, words, bytes(row_bytes), sums="row_sums_s16")
    else:
        kernel = "prepare_u8"
        outside = bytes([product.input.zero_point & 0xFF]) * row_bytes
        dot_flip, dots_zero = dot_zero(product.input, tiling)
        prepared = Input(
            [], source, row_bytes, words, outside, dots_zero, dot_flip, dot_sums(tiling)
        )
        if row_bytes == depth:
            return prepared
        flip = 0
    buffer = Buffer(rows * row_bytes)
    parts = min(rows, tiles_of(rows * row_bytes // PREPARED_PER_NS))
    step = Step(
        PREPARE,
        kernel,
        tiles=parts,
        input=source,
        output=buffer,
        parts=parts,
        rows=rows,
        depth=depth,
        pitch=row_bytes,
        flip=flip,
        zero=zero,
    )
    return prepared._replace(steps=[step], source=buffer)


def packed_filter(
    product: ProductDescriptor,
    filter: Filter,
    input: Input,
    depth: int,
    tile_rows: int,
    tiling: Tiling,
    weight_bytes: int = FLOAT32,
    floored: int = 0,
) -> Packed:
    """Pack a filter for rows of `depth` elements and a micro-kernel of `tile_rows` rows.

    weight_bytes: of a packed weight, if it is not quantized: see weight_format.py. floored: see
    floored_steps.
    """
    columns, taps = filter.columns, filter.taps
    if product.quantized:
        # A matrix-vector product is bound by memory: int8 weights on all tiers.
        word_bytes = tiling.group if tile_rows == 1 else 4
        kernel = f"pack_s{8 * word_bytes // tiling.group}"
        column_bytes = QUANTIZED_HEAD_BYTES + taps * input.words * word_bytes
    else:
        kernel = (
            f"pack_half_{product.variant}" if weight_bytes == FLOAT16 else f"pack_{product.variant}"
        )
        column_bytes = FLOAT_HEAD_BYTES + taps * input.words * weight_bytes
    matrix_bytes = round_up(columns, tiling.lanes) * column_bytes
    width = tiling.panel_columns(tile_rows)
    panels = -(-columns // width)
    buffer = Buffer(filter.matrices * matrix_bytes)
    sizes: dict[str, Any] = {"columns": columns, "width": width, "lanes": tiling.lanes}
    addresses: dict[str, Any] = {"filter": filter.source, "bias": filter.bias, "output": buffer}
    flip, zero = signed_zero(filter.operand)
    if product.quantized:
        step = Step(
            PACK_QUANTIZED,
            kernel,
            once=True,
            **addresses,
            **sizes,
            multipliers=float64s(filter.multipliers),
            taps=taps,
            depth=depth,
            group=tiling.group,
            flip=flip,
            filter_zero=zero,
            input_zero=input.zero,
            tiles=filter.matrices * panels,
            panels=panels,
            matrix_bytes=matrix_bytes,
            zero_point=signed_zero(product.output)[1],
            steps=floored,
        )
    elif filter.depth_first:
        step = Step(
            PACK_MATRIX,
            "pack_matrix_f32",
            once=True,
            tiles=filter.matrices * panels,
            filter=filter.source,
            output=buffer,
            **sizes,
            depth=depth,
            panels=panels,
        )
    elif filter.operand.type in BYTES:
        step = Step(
            PACK_WIDENED,
            "pack_widened",
            tiles=panels,
            once=True,
            **addresses,
            **sizes,
            scales=scales(filter.operand),
            depth=depth,
            flip=flip,
        )
    else:
        step = Step(
            PACK_FLOAT, kernel, tiles=panels, once=True, **addresses, **sizes, depth=taps * depth
        )
    image_bytes = matrix_bytes if filter.matrices > 1 else 0
    panel_bytes = width * column_bytes
    corrected = kernel != "pack_s8" or zero == 0
    return Packed(step, buffer, columns, panels, panel_bytes, image_bytes, corrected)
