"""How the weights of float32 products are packed: as float32, float16 or int8.

float16 are those of passes/graph/compress_weights_f16.py. int8 are the constants that the pass
keep_weights_q8 hands to a product in place of their float32 values: for digit products, where these
are faster. Kernels of more rows read float32, which packing computes.
"""

from struct import pack

from nnapi_shim.drivers.cpu.lowering.half_precision import HALVED
from nnapi_shim.drivers.cpu.lowering.tiling import tiling
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.types import Dimensions, element_count
from nnapi_shim.operations.declare import BoundOperand

BYTES = (
    T.TENSOR_QUANT8_ASYMM,
    T.TENSOR_QUANT8_ASYMM_SIGNED,
    T.TENSOR_QUANT8_SYMM,
    T.TENSOR_QUANT8_SYMM_PER_CHANNEL,
)
FLOAT32, FLOAT16, INT8 = 4, 2, 1
"""Bytes of a packed weight."""
MAX_DEPTH, MAX_SCALE = 1 << 16, 2.0**30
"""What digit_products.py can multiply, which all int8 weights are packed for."""
MAX_ROWS, COLUMNS_PER_ROW = 64, 16
"""Rows of digit products where bytes have dot products, at most, and columns for each row, at
least: preparing a row takes time, and room for the levels that it may have."""
ROWS_OF_PAIRS, MANY_WEIGHTS = 2, 1 << 19
"""Rows elsewhere, at most, unless there are so many weights that float32 ones leave near caches."""


def weight_bytes(weights: BoundOperand, tile_rows: int, count: int) -> int:
    """The bytes of a packed weight, for `count` rows and a micro-kernel of `tile_rows` rows."""
    if weights.value is HALVED:
        return FLOAT16 if tile_rows == 1 else FLOAT32
    if weights.type not in BYTES or not has_digit_products(weights):
        return FLOAT32
    return INT8 if count <= digit_rows(weights.dimensions) else FLOAT32


def digit_rows(dimensions: Dimensions) -> int:
    """The rows, at most, of a digit product by weights [columns, depth]."""
    geometry = tiling()
    if geometry.group == 4:
        return min(MAX_ROWS, max(geometry.few_rows, dimensions[0] // COLUMNS_PER_ROW))
    return geometry.few_rows if element_count(dimensions) >= MANY_WEIGHTS else ROWS_OF_PAIRS


def has_digit_products(weights: BoundOperand) -> bool:
    """Whether a product of 8-bit weights [columns, depth] can be a digit product."""
    quant = weights.channel_quant
    largest = max(quant.scales) if quant else weights.scale
    return weights.dimensions[-1] <= MAX_DEPTH and largest <= MAX_SCALE


def scales(weights: BoundOperand) -> bytes:
    """The scale of each row of a matrix of 8-bit weights [columns, depth], as float32."""
    columns, quant = weights.dimensions[0], weights.channel_quant
    return pack(f"<{columns}f", *(quant.scales if quant else [weights.scale] * columns))
