"""Products of a few float32 rows and 8-bit weights as sums of integers, which are exact.

A row is a sum of parts, its levels. A level has the elements whose magnitudes are within BINADES
binades, as whole multiples X of 2^exponent below 2^30. Elements of float32 have 24 bits, so X is
exact. X is written as four signed bytes, its digits, and VPDPBUSD multiplies them by the weights as
unsigned bytes, weight + 128:

    sum(x * weight) = sum over levels of 2^exponent * (sum(X * (weight + 128)) - 128 * sum(X))

All sums are integers without rounding; they are joined, scaled and added to the bias in float64,
and rounded once. Most rows have one or two levels; a level lists only the words of four elements
that it has any of. That is four instructions for 64 weights, where widening to float32 takes 16.

A row with an element of at least 2^60, infinity or a NaN is summed in float32, so that sums that
overflow do so as those of other kernels; so are products of weights with a scale above 2^30.
"""

from nnapi_shim.drivers.cpu.lowering.bounds import float_bounds
from nnapi_shim.drivers.cpu.lowering.descriptor import ProductDescriptor
from nnapi_shim.drivers.cpu.lowering.gemm_blocking import tiles_of
from nnapi_shim.drivers.cpu.lowering.packing import Filter
from nnapi_shim.drivers.cpu.lowering.requantization import signed_zero
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling, round_up
from nnapi_shim.drivers.cpu.lowering.weight_format import scales
from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32, INT64, Buffer, Step, record
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperand

BINADES = 7
LEVELS = 40
"""Levels of a row, at most: float32 has 277 binades."""
LEVEL_BYTES = 24
"""{int64 end of its words, float64 2^exponent, float64 128 * sum(X)}."""
HEAD_BYTES = 64 + LEVELS * LEVEL_BYTES
"""At the start of a row: the number of levels, or -1 for a row that is no sum of levels; then the
levels."""
WORD_BYTES = 8 + 16
"""The number of a word, and its four digits of four elements each."""
SPARE = 4
"""Words that are written behind the last one."""
MAX_DEPTH = 1 << 16
"""Elements of a row, at most, for sums of digits to fit int32: 2^16 * 255 * 128 < 2^31."""
MAX_SCALE = 2.0**30
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
PACK_UNSIGNED = record(
    filter=ADDRESS, bias=ADDRESS, scales=ADDRESS, output=ADDRESS,
    columns=INT64, depth=INT64, width=INT64, lanes=INT64, flip=INT64,
)  # fmt: skip
"""A tile is a panel. flip: XOR mask that makes weight + 128 of a stored byte."""
EXACT_PRODUCT = record(
    rows=ADDRESS, input=ADDRESS, filter=ADDRESS, output=ADDRESS,
    count=INT64, row_bytes=INT64, pitch=INT64, capacity=INT64, depth=INT64, output_stride=INT64,
    columns=INT64, panels=INT64, panel_bytes=INT64, tile_panels=INT64, low=FLOAT32, high=FLOAT32,
)  # fmt: skip
"""A tile is `tile_panels` panels, for all `count` rows. rows: prepared; input: as they are."""


def has_exact_products(weights: BoundOperand, geometry: Tiling) -> bool:
    """Whether a product of 8-bit weights [columns, depth] is summed in integers."""
    quant = weights.channel_quant
    largest = max(quant.scales) if quant else weights.scale
    return geometry.group == 4 and weights.dimensions[-1] <= MAX_DEPTH and largest <= MAX_SCALE


def exact_product(
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
    columns, width = filter.columns, geometry.columns
    words, panels = -(-depth // 4), -(-columns // width)
    column_bytes = COLUMN_HEAD + 4 * words
    packed = Buffer(round_up(columns, geometry.lanes) * column_bytes)
    packing = Step(
        PACK_UNSIGNED,
        "pack_unsigned",
        tiles=panels,
        once=True,
        filter=filter.source,
        bias=filter.bias,
        scales=scales(filter.operand),
        output=packed,
        columns=columns,
        depth=depth,
        width=width,
        lanes=geometry.lanes,
        flip=0x80 ^ signed_zero(filter.operand)[0],
    )
    capacity = 4 * words + SPARE
    pitch = HEAD_BYTES + capacity * WORD_BYTES
    rows = Buffer(count * pitch)
    same: dict[str, Any] = {
        "row_bytes": 4 * depth,
        "depth": depth,
        "pitch": pitch,
        "capacity": capacity,
    }
    prepare = Step(PREPARE_DIGITS, "prepare_digits", tiles=count, input=source, output=rows, **same)
    low, high = float_bounds(product.activation)
    tile_panels = -(-panels // tiles_of(count * columns * depth // SUMMED_PER_NS))
    multiply = Step(
        EXACT_PRODUCT,
        "exact_product",
        tiles=-(-panels // tile_panels),
        rows=rows,
        input=source,
        filter=packed,
        output=target,
        count=count,
        output_stride=4 * (output_columns or columns),
        columns=columns,
        panels=panels,
        panel_bytes=width * column_bytes,
        tile_panels=tile_panels,
        low=low,
        high=high,
        **same,
    )
    return [packing, prepare, multiply]
