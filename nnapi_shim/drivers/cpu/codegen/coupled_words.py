"""Couples of words, whose sums of pairs are added in 16 bits before they are widened.

As with pairs, of the four weights that are added for each half of a word and each column, those of
one sign may sum up to MOST. A word makes a couple with any other one of its tap. Most words find
one: large ones go first, and take the largest that has room for them.
"""

from typing import Any

from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import BYTE_TILING
from nnapi_shim.drivers.cpu.codegen.numeric import copy_bytes, i32
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, HALFWORD, LONG, WORD, constant, long, vector
from nnapi_shim.drivers.cpu.lowering.shifted_words import BUCKETS
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

LANES = BYTE_TILING.lanes
MOST = 128
"""The largest magnitude of the sum of the weights of one sign that are added in 16 bits:
255 * 128 < 2^15.
"""
SUMS_BYTES = 4 * LANES
"""Of a word in a vector of columns: for each pair of weights the sum of the positive ones, and the
magnitude of that of the negative ones.
"""
BUCKET = SUMS_BYTES * MOST // BUCKETS
"""Words are sorted by the sum of their magnitudes, in steps of this."""
TRIED = 64
"""Words that are tried for each word, on average at most."""


@emits(types.int64(*[types.int64] * 7))
def write_sums(
    builder: Any, row: Any, stride: Any, last: Any, flip: Any, mask: Any, negated: Any, sums: Any
) -> Any:
    """The SUMS_BYTES of a word; returns the sum of them.

    row: of the first column, from the word on; those of the others are `stride` bytes apart, and
    all behind column `last` are like it. flip: of each byte; mask, negated: of the word.
    """
    kind, byte = vector(HALFWORD, 2 * LANES), vector(BYTE, 4 * LANES)
    stored = ir.Constant(vector(WORD, LANES), ir.Undefined)
    for n in range(LANES):
        column = builder.clamp_integers(long(n), long(0), last)
        at = builder.add(row, builder.mul(column, stride))
        stored = builder.insert_element(stored, builder.load_from(at, WORD, 1), WORD(n))
    flips, masks, negations = (
        builder.bitcast(builder.splat(builder.trunc(value, part), count), byte)
        for value, part, count in (
            (flip, BYTE, 4 * LANES),
            (mask, WORD, LANES),
            (negated, WORD, LANES),
        )
    )
    weights = builder.and_(builder.xor(builder.bitcast(stored, byte), flips), masks)
    weights = builder.sub(builder.xor(weights, negations), negations)
    none = constant(byte, 0)
    is_positive = builder.icmp_signed(">", weights, none)
    total, bits = constant(kind, 0), constant(kind, 8)
    result = total
    for magnitudes in (
        builder.select(is_positive, none, builder.sub(none, weights)),
        builder.select(is_positive, weights, none),
    ):
        both = builder.bitcast(magnitudes, kind)
        own = builder.add(builder.and_(both, constant(kind, 255)), builder.lshr(both, bits))
        result, total = builder.or_(builder.shl(result, bits), own), builder.add(total, own)
    builder.store_to(result, sums, 1)
    name = f"llvm.vector.reduce.add.v{2 * LANES}i16"
    return builder.zext(builder.call_by_name(name, HALFWORD, total), LONG)


@emits(types.int64(types.int64, types.int64))
def fits(builder: Any, first: Any, second: Any) -> Any:
    """Whether the words with these sums make a couple, as 0 or 1."""
    kind = vector(BYTE, SUMS_BYTES)
    sums = [builder.load_from(address, kind, 1) for address in (first, second)]
    both = builder.call_same("llvm.uadd.sat", *sums)
    exceeding = builder.icmp_unsigned(">", both, constant(kind, MOST))
    lanes = builder.bitcast(exceeding, ir.IntType(SUMS_BYTES))
    return builder.zext(builder.icmp_unsigned("==", lanes, lanes.type(0)), LONG)


@emits(types.void(types.int64))
def take(builder: Any, sums: Any) -> None:
    """Make the sums of a word so large that it fits no other one."""
    builder.store_to(constant(vector(BYTE, SUMS_BYTES), 255), sums, 1)


@helper
def sort_words(count, totals, sums, ordered, order, starts):
    """Write the numbers and the sums of words from large to small.

    totals: of each word. starts: int32[BUCKETS].
    """
    for bucket in range(BUCKETS):
        starts[bucket] = 0
    for word in range(count):
        starts[min(totals[word] // BUCKET, BUCKETS - 1)] += 1
    end = count
    for bucket in range(BUCKETS):
        end -= starts[bucket]
        starts[bucket] = end
    for word in range(count):
        bucket = min(totals[word] // BUCKET, BUCKETS - 1)
        at = starts[bucket]
        order[at], starts[bucket] = word, at + 1
        copy_bytes(ordered + at * SUMS_BYTES, sums + word * SUMS_BYTES, SUMS_BYTES)


@helper
def coupled(count, sums, partners, ordered, order, starts):
    """Write the partner of each word, or -1; returns how many words have one.

    sums: of each word. partners: int32[count], the sum of these of each word before. The rest is
    scratch memory: as many sums again, int32[count], int32[BUCKETS].
    """
    partners, order = i32(partners), i32(order)
    sort_words(count, partners, sums, ordered, order, i32(starts))
    for word in range(count):
        partners[word] = -1
    trials, found = TRIED * count, 0
    for at in range(count):
        if partners[order[at]] >= 0:
            continue
        own, end = ordered + at * SUMS_BYTES, min(count, at + 1 + trials)
        other = at + 1
        while other < end and not fits(own, ordered + other * SUMS_BYTES):
            other += 1
        trials -= other - at
        if other < end:
            take(ordered + other * SUMS_BYTES)
            partners[order[at]], partners[order[other]] = order[other], order[at]
            found += 2
    return found
