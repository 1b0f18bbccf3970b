"""A checksum at the speed of memory: what tells one model, or one file, from another."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from nnapi_shim.drivers.cpu.kernels.elements import READ, READ_BACK
from nnapi_shim.drivers.cpu.kernels.kernel import helper, kernel
from nnapi_shim.drivers.cpu.kernels.numeric import i64
from nnapi_shim.drivers.cpu.kernels.vector import LONG, load, long, store, variable, vector
from nnapi_shim.drivers.cpu.weights import DIGEST

read_byte, read_back = READ["u8"], READ_BACK["u64"]

LANES = 32
FACTOR = 0x9E3779B1
"""Odd, so that products lose nothing; of 32 bits, which vectors can multiply by."""
U = np.uint64
PRIME = U(0x9E3779B97F4A7C55)
SHIFT = U(32)


def _lanes(values: Any) -> Any:
    return ir.Constant(vector(LONG, LANES), values)


@intrinsic
def sums_of_words(typing_context: Any, y: Any, x: Any, blocks: Any) -> Any:
    """LANES sums at y, of every LANES-th word from x on: sum = (sum + word) * FACTOR, its upper
    half mixed into the lower one. Without that, changes of the highest bits of two words would
    cancel each other.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, source, blocks = arguments
        kind = vector(LONG, LANES)
        sums = variable(builder, kind, _lanes([*range(LANES)]))
        with cgutils.for_range(builder, blocks) as block:
            at = builder.add(source, builder.mul(block.index, long(8 * LANES)))
            total = builder.add(builder.load(sums), load(builder, at, kind, 1))
            product = builder.mul(total, _lanes([FACTOR] * LANES))
            upper = builder.lshr(product, _lanes([32] * LANES))
            builder.store(builder.xor(product, upper), sums)
        store(builder, builder.load(sums), target, 8)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3), generate


@helper
def mixed(state, word):
    """Another state for every other word."""
    state = (state ^ word) * PRIME
    return state ^ (state >> SHIFT)


@kernel(DIGEST)
def digest(a, tile):
    """input: byte[bytes], output: uint64[4], sums: uint64[32].

    Sums of words, so many that their products need not wait for each other; then the bytes that are
    left, and the length. A change within one word always changes the result.
    """
    x, count, sums, y = a.input, a.bytes, a.sums, i64(a.output)
    blocks = count // (8 * LANES)
    sums_of_words(sums, x, blocks)
    rest = U(count)
    for at in range(8 * LANES * blocks, count):
        rest = mixed(rest, U(read_byte(x, at)))
    for part in range(4):
        state = mixed(U(part), rest)
        for lane in range(part, LANES, 4):
            state = mixed(state, read_back(sums, lane))
        y[part] = np.int64(mixed(state, U(part)))
    return 0
