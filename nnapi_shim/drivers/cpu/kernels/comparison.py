"""EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL: a byte 0 or 1 for every pair.

Quantized numbers with different parameters are compared as (q - zero_point) * scale in float32.
"""

from operator import eq, le, lt

import numpy as np

from nnapi_shim.drivers.cpu.codegen.broadcasting import pairwise
from nnapi_shim.drivers.cpu.codegen.elements import READ, WRITE
from nnapi_shim.drivers.cpu.lowering.comparison import COMPARE, COMPARE_BYTES, COMPARE_REALS
from nnapi_shim.drivers.cpu.toolchain.kernel import helper


def plain(compare):
    """The formula compare(x, y), perhaps negated."""

    @helper
    def formula(x, y, negate):
        return np.int32(compare(x, y) ^ negate)

    return formula


def bytes_in_order(compare):
    """The formula compare(x, y) of bytes that are flipped to be unsigned, perhaps negated."""

    @helper
    def formula(x, y, values):
        negate, signed = values
        return np.int32(compare(x ^ signed, y ^ signed) ^ negate)

    return formula


def dequantized(compare):
    """The formula compare((x - zero0) * scale0, (y - zero1) * scale1), perhaps negated."""

    @helper
    def formula(x, y, values):
        negate, signed, zero0, scale0, zero1, scale1 = values
        x, y = (np.float32(x ^ signed) - zero0) * scale0, (np.float32(y ^ signed) - zero1) * scale1
        return np.int32(compare(x, y) ^ negate)

    return formula


negation = helper(lambda a: a.negate != 0)
bytes_constants = helper(lambda a: (a.negate != 0, np.uint8(a.signed)))
dequantized_constants = helper(
    lambda a: (a.negate != 0, np.uint8(a.signed), a.zero0, a.scale0, a.zero1, a.scale1)
)

_write = WRITE["b8"]

for _type, _size in (("f32", 4), ("f16", 2), ("i32", 4)):
    _io = READ[_type], _write, (_size, 1)
    pairwise(f"equal_{_type}", COMPARE, *_io, negation, plain(eq))
    pairwise(f"less_{_type}", COMPARE, *_io, negation, plain(lt))
    if _type != "i32":
        pairwise(f"less_equal_{_type}", COMPARE, *_io, negation, plain(le))

_io = READ["u8"], _write, (1, 1)
for _name, _compare in (("equal", eq), ("less", lt)):
    pairwise(f"{_name}_b8", COMPARE_BYTES, *_io, bytes_constants, bytes_in_order(_compare))
    pairwise(f"{_name}_reals", COMPARE_REALS, *_io, dequantized_constants, dequantized(_compare))
