"""Emitters of the exact product of float32 and 8-bit weights: see ../lowering/exact_products.py."""

from typing import Any

from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.vector import (
    BYTE,
    DOUBLE,
    FLOAT,
    LONG,
    WORD,
    Builder,
    constant,
    long,
    vector,
)
from nnapi_shim.drivers.cpu.lowering.exact_products import COLUMN_HEAD, HEAD_BYTES, LEVEL_BYTES

LANES, HALF_LANES = TILING.lanes, TILING.lanes // 2
DIGITS = 4
BALANCED = 0x80808080 - (1 << 32)
"""X + BALANCED has the digits of X, each plus 128, as its bytes."""
MAGNITUDE = 0x7FFFFFFF
TRANSPOSED = [
    16 * word + 4 * element + digit
    for word in range(LANES // 4)
    for digit in range(DIGITS)
    for element in range(4)
]
"""Of the digits of each element to the elements of each digit, in words of four elements."""


@emits(types.int64(*[types.int64] * 8))
def fill_level(
    builder: Any,
    row: Any,
    depth: Any,
    least: Any,
    most: Any,
    exponent: Any,
    numbers: Any,
    digits: Any,
    level: Any,
) -> Any:
    """Append the words of a level to the lists at `numbers` and `digits`; returns how many.

    least, most: bits of the smallest and the largest magnitude. exponent: x = X * 2^-exponent. The
    last field of the level becomes 128 * sum(X).
    """
    floats, integers = vector(FLOAT, LANES), vector(WORD, LANES)
    longs = vector(LONG, LANES)
    count = builder.variable(LONG, long(0))
    total = builder.variable(longs, ir.Constant(longs, None))
    low, high = (builder.splat(builder.trunc(each, WORD), LANES) for each in (least, most))
    power = builder.splat(builder.sitofp(exponent, FLOAT), LANES)
    zero = ir.Constant(floats, None)
    blocks = builder.udiv(builder.add(depth, long(LANES - 1)), long(LANES))
    with builder.each(blocks, LANES) as first:
        there = builder.lanes_before(builder.trunc(builder.sub(depth, first), WORD), LANES)
        address = builder.add(row, builder.mul(first, long(4)))
        x = builder.masked_load(address, zero, there, 4)
        bits = builder.and_(builder.bitcast(x, integers), constant(integers, MAGNITUDE))
        inside = builder.and_(
            builder.icmp_signed(">=", bits, low), builder.icmp_signed("<=", bits, high)
        )
        chosen = builder.select(inside, _scaled(builder, x, power), zero)
        whole = builder.fptosi(chosen, integers)
        wide = builder.sext(whole, longs)
        builder.store(builder.add(builder.load(total), wide), total)
        offset = constant(integers, BALANCED)
        bytes_ = builder.bitcast(
            builder.xor(builder.add(whole, offset), offset), vector(BYTE, 4 * LANES)
        )
        words = builder.bitcast(builder.pick(bytes_, TRANSPOSED), integers)
        mask = builder.bitcast(inside, ir.IntType(LANES))
        for block in range(LANES // 4):
            at = builder.load(count)
            part = builder.pick(words, range(4 * block, 4 * block + 4))
            builder.store_to(part, builder.add(digits, builder.mul(at, long(16))), 4)
            number = builder.add(builder.udiv(first, long(4)), long(block))
            builder.store_to(number, builder.add(numbers, builder.mul(at, long(8))), 8)
            some = builder.and_(mask, ir.Constant(mask.type, 15 << 4 * block))
            has = builder.icmp_unsigned("!=", some, ir.Constant(mask.type, 0))
            builder.store(builder.add(at, builder.zext(has, LONG)), count)
    name = f"llvm.vector.reduce.add.v{LANES}i64"
    total_of_all = builder.call_by_name(name, LONG, builder.load(total))
    correction = builder.sitofp(builder.mul(total_of_all, long(128)), DOUBLE)
    builder.store_to(correction, builder.add(level, long(16)), 8)
    return builder.load(count)


def _scaled(builder: Any, x: Any, exponent: Any) -> Any:
    """X * 2^exponent where that is a whole number below 2^30, for whole float32 exponents."""
    if ISA.can_scale(x.type):
        return ISA.scaled(builder, x, exponent)
    # In two steps: 2^exponent itself may leave the range of float32.
    whole = builder.fptosi(exponent, vector(WORD, LANES))
    first = builder.ashr(whole, constant(whole.type, 1))
    for part in (first, builder.sub(whole, first)):
        bits = builder.shl(builder.add(part, constant(whole.type, 127)), constant(whole.type, 23))
        x = builder.fmul(x, builder.bitcast(bits, x.type))
    return x


@emits(types.void(*[types.int64] * 5, types.float32, types.float32))
def exact_row(
    builder: Any,
    row: Any,
    capacity: Any,
    panel: Any,
    output: Any,
    columns: Any,
    low: Any,
    high: Any,
) -> None:
    """A panel's columns of a prepared row: bounded sums, stored as float32."""
    arguments = row, capacity, panel, output, columns, low, high
    for vectors in range(1, TILING.vectors + 1):
        fits = builder.icmp_signed(">", columns, long(LANES * (vectors - 1)))
        if vectors < TILING.vectors:
            enough = builder.icmp_signed("<=", columns, long(LANES * vectors))
            fits = builder.and_(fits, enough)
        with builder.if_then(fits):
            name = f"nnk_exact_row_{vectors}x{LANES}"
            kinds = [*[LONG] * 5, FLOAT, FLOAT]
            function, is_new = builder.outlined(name, kinds)
            if is_new:
                _write(Builder(function.append_basic_block("entry")), vectors, *function.args)
            builder.call(function, arguments)


def _write(
    builder: Any,
    vectors: int,
    row: Any,
    capacity: Any,
    panel: Any,
    output: Any,
    columns: Any,
    low: Any,
    high: Any,
) -> None:
    """The function for panels of so many vectors."""
    integers, doubles = vector(WORD, LANES), vector(DOUBLE, HALF_LANES)
    bytes_ = vector(BYTE, 4 * LANES)
    width = vectors * LANES
    zero = ir.Constant(integers, None)
    totals = [
        [builder.variable(doubles, ir.Constant(doubles, None)) for _ in range(2)]
        for _ in range(vectors)
    ]
    numbers = builder.add(row, long(HEAD_BYTES))
    digits = builder.add(numbers, builder.mul(capacity, long(8)))
    weights = builder.add(panel, long(COLUMN_HEAD * width))
    first = builder.variable(LONG, long(0))
    sums = [[builder.variable(integers) for _ in range(vectors)] for _ in range(DIGITS)]
    with builder.each(builder.load_from(row, LONG, 8)) as number:
        level = builder.add(row, builder.add(long(64), builder.mul(number, long(LEVEL_BYTES))))
        for each in sums:
            for slot in each:
                builder.store(zero, slot)
        begin = builder.load(first)
        end = builder.load_from(level, LONG, 8)
        with builder.each(builder.sub(end, begin)) as done:
            at = builder.add(begin, done)
            word = builder.load_from(builder.add(numbers, builder.mul(at, long(8))), LONG, 8)
            place = builder.add(weights, builder.mul(word, long(4 * width)))
            loaded = [
                builder.load_from(builder.add(place, long(4 * LANES * j)), bytes_, 4)
                for j in range(vectors)
            ]
            digit = builder.add(digits, builder.mul(at, long(16)))
            for d, slots in enumerate(sums):
                value = builder.load_from(builder.add(digit, long(4 * d)), WORD, 4)
                x = builder.bitcast(builder.splat(value, LANES), bytes_)
                for slot, w in zip(slots, loaded, strict=True):
                    builder.store(ISA.dot_quads(builder, builder.load(slot), w, x), slot)
        builder.store(end, first)
        factor, correction = (
            builder.splat(builder.load_from(builder.add(level, long(at)), DOUBLE, 8), HALF_LANES)
            for at in (8, 16)
        )
        for j, pair in enumerate(totals):
            for half, slot in enumerate(pair):
                lanes = range(half * HALF_LANES, (half + 1) * HALF_LANES)
                parts = [
                    builder.sitofp(builder.pick(builder.load(slots[j]), lanes), doubles)
                    for slots in sums
                ]
                joined = parts[DIGITS - 1]
                for part in reversed(parts[:-1]):
                    joined = builder.fadd(builder.fmul(joined, constant(doubles, 256.0)), part)
                joined = builder.fmul(builder.fsub(joined, correction), factor)
                builder.store(builder.fadd(builder.load(slot), joined), slot)
    for j, pair in enumerate(totals):
        halves = []
        for half, slot in enumerate(pair):
            offset = 4 * (j * LANES + half * HALF_LANES)
            bias, scale = (
                builder.fpext(
                    builder.load_from(
                        builder.add(panel, long(offset + head * width)),
                        vector(FLOAT, HALF_LANES),
                        4,
                    ),
                    doubles,
                )
                for head in (0, 4)
            )
            value = builder.fadd(builder.fmul(builder.load(slot), scale), bias)
            halves.append(builder.fptrunc(value, vector(FLOAT, HALF_LANES)))
        limits = (builder.splat(limit, LANES) for limit in (low, high))
        value = builder.clamp(builder.join(halves), *limits)
        rest = builder.trunc(builder.sub(columns, long(j * LANES)), WORD)
        address = builder.add(output, long(4 * LANES * j))
        builder.masked_store(value, address, builder.lanes_before(rest, LANES), 4)
    builder.ret_void()
