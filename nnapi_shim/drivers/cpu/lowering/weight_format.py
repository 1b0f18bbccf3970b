"""How the weights of float32 products are packed: as float32, float16 or int8.

float16 are those of passes/graph/compress_weights_f16.py. int8 are the constants that the pass
keep_weights_q8 hands to a product in place of their float32 values. A product of few rows reads
each weight about once, so the fewer bytes the better; kernels of more rows read float32, which
packing computes.
"""

from struct import pack

from nnapi_shim.drivers.cpu.lowering.half_precision import HALVED
from nnapi_shim.drivers.cpu.lowering.tiling import tiling
from nnapi_shim.hal.enums import OperandType as T
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


def weight_bytes(weights: BoundOperand, tile_rows: int, count: int) -> int:
    """The bytes of a packed weight, for `count` rows and a micro-kernel of `tile_rows` rows."""
    if weights.value is HALVED:
        return FLOAT16 if tile_rows == 1 else FLOAT32
    few = tiling().few_rows
    is_few = tile_rows in (1, few) and count <= few
    return INT8 if is_few and weights.type in BYTES and has_digit_products(weights) else FLOAT32


def has_digit_products(weights: BoundOperand) -> bool:
    """Whether a product of 8-bit weights [columns, depth] can be a digit product."""
    quant = weights.channel_quant
    largest = max(quant.scales) if quant else weights.scale
    return weights.dimensions[-1] <= MAX_DEPTH and largest <= MAX_SCALE


def scales(weights: BoundOperand) -> bytes:
    """The scale of each row of a matrix of 8-bit weights [columns, depth], as float32."""
    columns, quant = weights.dimensions[0], weights.channel_quant
    return pack(f"<{columns}f", *(quant.scales if quant else [weights.scale] * columns))
