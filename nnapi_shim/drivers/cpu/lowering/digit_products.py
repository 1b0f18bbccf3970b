"""Digit products: of a few float32 rows and 8-bit weights, by sums of integers.

A row is a sum of parts, its levels. The first has each element as an integer X below 2^LEVEL_BITS
times 2^-exponent, in signed digits. Where bytes have dot products, these are three bytes, and
VPDPBUSD multiplies them by the weights as unsigned bytes, weight + 128:

    sum(x * weight) = 2^-exponent * (sum(X * (weight + 128)) - 128 * sum(X))

Elsewhere the digits are two int16, and VPMADDWD multiplies them by the weights, widened. X has too
few bits of elements below 2^-BINADES times the largest. Each further level has one digit of them,
the next BINADES bits, and lists only the words, of as many elements as there are digits in 32 bits,
that it has any of; its elements are so much smaller than those of the level before.

With bytes, x is rounded by 1.004 * 2^-17 of an element at most, about what sums of 128 terms in
float32 may lose as well, and by 1.004 * 2^-23 of the largest element of the row. With int16, X has
seven bits more, and all 24 bits of x: nothing is rounded.

The sums of a digit are integers without rounding, in int32. Float32 has the rest, with its
roundings: the sums of the digits of a level are converted and joined, levels are added, and the
total is scaled and added to the bias. For 64 weights, the first level takes three instructions with
VPDPBUSD and 20 of half the width without, where widening to float32 takes 16 or 32.

A row with an element of at least 2^60, infinity or a NaN is summed in float32, so that sums that
overflow do so as those of other kernels; so are products of weights with a scale above 2^30.
"""

from nnapi_shim.drivers.cpu.isa.tier import Tier
from nnapi_shim.drivers.cpu.lowering.bounds import float_bounds
from nnapi_shim.drivers.cpu.lowering.descriptor import ProductDescriptor
from nnapi_shim.drivers.cpu.lowering.gemm_blocking import tiles_of
from nnapi_shim.drivers.cpu.lowering.packing import Filter
from nnapi_shim.drivers.cpu.lowering.requantization import signed_zero
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling, round_up, tier
from nnapi_shim.drivers.cpu.lowering.weight_format import MAX_DEPTH, scales
from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32, INT64, Buffer, Step, record
from nnapi_shim.hints import Any

BINADES = 7
"""Bits of a further level: elements are below 2^-BINADES of those of the level before."""
LEVELS = 40
"""Levels of a row, at most: float32 has 277 binades."""
NUMBER_BYTES = 2
"""Of the number of a word."""
LEVEL_BITS = {4: 23, 2: 30}
"""Bits of X, by the elements of a word."""
DIGITS = {4: 3, 2: 2}
"""Digits of X that may be other than 0, likewise."""
LEVEL_BYTES = 32
"""{int64 end of its words, two float32 whose product is 2^-exponent, int32 -128 * sum(X)}: the last
is by digit, and 0 without dot products."""
HEAD_BYTES = 64 + LEVELS * LEVEL_BYTES
"""At the start of a row: the number of levels, or -1 for a row that is no sum of levels; then the
levels. Behind it are the numbers of `capacity` words, then their digits: for each word of the first
level of all its elements the lowest, then the next, up to 32 bits of each element; for each other
word 32 bits. The first level has no numbers where it has all words."""
MOST_LEVELS = 5
"""Further levels with a digit of the same element, at most: each has BINADES of its 24 bits."""
SPARE = 4
"""Words that are written behind the last one."""
MOST_WORDS = {4: MAX_DEPTH // 4, 2: 128}
"""Words whose sums of so many digits are added in int32, at most: MAX_DEPTH * 255 * 128 < 2^31, and
2 * 128 * 2^15 * 128 < 2^31."""
LARGE = 0x5D800000
"""Bits of 2^60, from which on a row is summed in float32."""
COLUMN_HEAD = 8
"""Bytes per column at the start of a panel: bias and scale."""
SUMMED_PER_NS = 64
"""Products per nanosecond."""

PREPARE_DIGITS = record(
    input=ADDRESS, output=ADDRESS, row_bytes=INT64, depth=INT64, pitch=INT64, capacity=INT64
)  # fmt: skip
"""A tile is a row. row_bytes, pitch: of the input and of the output. capacity: words of a row."""
PACK_FOR_DIGITS = record(
    filter=ADDRESS, bias=ADDRESS, scales=ADDRESS, output=ADDRESS,
    columns=INT64, depth=INT64, width=INT64, lanes=INT64, flip=INT64,
)  # fmt: skip
"""A tile is a panel. flip: XOR mask that makes a weight of a stored byte, or weight + 128 where
bytes have dot products."""
DIGIT_PRODUCT = record(
    rows=ADDRESS, input=ADDRESS, filter=ADDRESS, output=ADDRESS,
    count=INT64, row_bytes=INT64, pitch=INT64, capacity=INT64, depth=INT64, output_stride=INT64,
    columns=INT64, panels=INT64, panel_bytes=INT64, tile_panels=INT64, low=FLOAT32, high=FLOAT32,
)  # fmt: skip
"""A tile is `tile_panels` panels, for all `count` rows. rows: prepared; input: as they are."""


def digit_columns(tier: Tier) -> int:
    """Columns of a panel: the sums of their digits fill at most half of the registers."""
    vectors = min(4, tier.registers // (2 * tier.tiling.group))
    return tier.tiling.lanes * vectors


def capacity_of(depth: int, geometry: Tiling) -> int:
    """Words that a row has room for: those of the first level, and in the others one of each
    element each time.
    """
    return -(-depth // geometry.group) + MOST_LEVELS * depth + SPARE


def digit_bytes(depth: int, geometry: Tiling) -> int:
    """Bytes of a prepared row."""
    words = round_up(depth, geometry.lanes)  # whole blocks are written
    return round_up(HEAD_BYTES + capacity_of(depth, geometry) * (NUMBER_BYTES + 4) + 4 * words, 64)


def packed_for_digits(filter: Filter, depth: int, geometry: Tiling) -> tuple[Step, Buffer, int]:
    """The step that packs 8-bit weights, the buffer that it writes, and the bytes of a panel."""
    columns, width, group = filter.columns, digit_columns(tier()), geometry.group
    column_bytes = COLUMN_HEAD + round_up(depth, group)
    packed = Buffer(round_up(columns, geometry.lanes) * column_bytes)
    step = Step(
        PACK_FOR_DIGITS,
        "pack_for_digits",
        tiles=-(-columns // width),
        once=True,
        filter=filter.source,
        bias=filter.bias,
        scales=scales(filter.operand),
        output=packed,
        columns=columns,
        depth=depth,
        width=width,
        lanes=geometry.lanes,
        flip=(0x80 if group == 4 else 0) ^ signed_zero(filter.operand)[0],
    )
    return step, packed, width * column_bytes


def prepared_digits(source: Any, target: Any, count: int, depth: int, geometry: Tiling) -> Step:
    """The step that prepares `count` contiguous rows."""
    return Step(
        PREPARE_DIGITS,
        "prepare_digits",
        tiles=count,
        input=source,
        output=target,
        row_bytes=4 * depth,
        depth=depth,
        pitch=digit_bytes(depth, geometry),
        capacity=capacity_of(depth, geometry),
    )


def digit_product(
    product: ProductDescriptor,
    filter: Filter,
    source: Any,
    count: int,
    depth: int,
    target: Any,
    geometry: Tiling,
    output_columns: int,
) -> list[Step]:
    """act(rows x filter + bias) of `count` contiguous rows. output_columns: as in gemm.py."""
    packing, packed, panel_bytes = packed_for_digits(filter, depth, geometry)
    columns, panels = filter.columns, packing.tiles
    capacity = capacity_of(depth, geometry)
    pitch = digit_bytes(depth, geometry)
    rows = Buffer(count * pitch)
    prepare = prepared_digits(source, rows, count, depth, geometry)
    low, high = float_bounds(product.activation)
    tile_panels = -(-panels // tiles_of(count * columns * depth // SUMMED_PER_NS))
    multiply = Step(
        DIGIT_PRODUCT,
        "digit_product",
        tiles=-(-panels // tile_panels),
        rows=rows,
        input=source,
        filter=packed,
        output=target,
        count=count,
        output_stride=4 * (output_columns or columns),
        columns=columns,
        panels=panels,
        panel_bytes=panel_bytes,
        tile_panels=tile_panels,
        low=low,
        high=high,
        row_bytes=4 * depth,
        depth=depth,
        pitch=pitch,
        capacity=capacity,
    )
    return [packing, prepare, multiply]
