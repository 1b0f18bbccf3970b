"""Emitters of digit products: see ../lowering/digit_products.py."""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.vector import (
    BYTE,
    FLOAT,
    HALFWORD,
    LONG,
    WORD,
    Builder,
    constant,
    long,
    vector,
)
from nnapi_shim.drivers.cpu.lowering.digit_products import (
    COLUMN_HEAD,
    DIGITS,
    HEAD_BYTES,
    LEVEL_BYTES,
    MOST_WORDS,
    digit_columns,
)

LANES = TILING.lanes
VECTORS = digit_columns(ISA.tier) // LANES
GROUP = TILING.group
"""The elements of a word, and the digits that are stored of each X."""
USED = DIGITS[GROUP]
"""The digits that can be other than 0."""
DIGIT = {4: BYTE, 2: HALFWORD}[GROUP]
BALANCED = {4: 0x80808080 - (1 << 32), 2: 0x8000}[GROUP]
"""X + BALANCED has the digits of X, plus 128 each, or plus 2^15 the lower one of two."""
MAGNITUDE = 0x7FFFFFFF
TRANSPOSED = [
    GROUP * (GROUP * word + element) + digit
    for word in range(LANES // GROUP)
    for digit in range(GROUP)
    for element in range(GROUP)
]
"""Of the digits of each element to the elements of each digit, word by word."""


@emits(types.int64(types.int64, types.int64))
def magnitudes(builder: Any, row: Any, depth: Any) -> Any:
    """Bits of the largest magnitude of a row, above 32 bits of the smallest but 0, less 1."""
    kind = vector(WORD, LANES)
    most = builder.variable(kind, ir.Constant(kind, None))
    least = builder.variable(kind, constant(kind, -1))
    with builder.each(_blocks(builder, depth), LANES) as first:
        bits, _ = _block(builder, row, depth, first)
        for slot, name, value in (
            (most, "umax", bits),
            (least, "umin", builder.sub(bits, constant(kind, 1))),  # 0 becomes the largest number
        ):
            name = f"llvm.{name}.v{LANES}i32"
            builder.store(builder.call_by_name(name, kind, builder.load(slot), value), slot)
    largest, smallest = (
        builder.zext(
            builder.call_by_name(
                f"llvm.vector.reduce.{name}.v{LANES}i32", WORD, builder.load(slot)
            ),
            LONG,
        )
        for slot, name in ((most, "umax"), (least, "umin"))
    )
    return builder.or_(builder.shl(largest, long(32)), smallest)


def _block(builder: Any, row: Any, depth: Any, first: Any) -> tuple[Any, Any]:
    """Bits of the magnitudes of LANES elements from `first` on, and these; 0 behind the last."""
    floats, integers = vector(FLOAT, LANES), vector(WORD, LANES)
    there = builder.lanes_before(builder.trunc(builder.sub(depth, first), WORD), LANES)
    address = builder.add(row, builder.mul(first, long(4)))
    x = builder.masked_load(address, ir.Constant(floats, None), there, 4)
    return builder.and_(builder.bitcast(x, integers), constant(integers, MAGNITUDE)), x


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
    last field of the level becomes -128 * sum(X), digit by digit, where bytes have dot products.
    """
    count, start = builder.variable(LONG, long(0)), _start(builder)
    power = builder.splat(builder.sitofp(exponent, FLOAT), LANES)
    with builder.each(_blocks(builder, depth), LANES) as first:
        bits, x = _block(builder, row, depth, first)
        inside = _inside(builder, bits, least, most)
        mask = builder.bitcast(inside, ir.IntType(LANES))
        # Levels but the first have few elements.
        with builder.if_then(builder.icmp_unsigned("!=", mask, ir.Constant(mask.type, 0))):
            words = _digits(builder, x, inside, power, start)
            for block in range(LANES // GROUP):
                at = builder.load(count)
                part = builder.pick(words, range(GROUP * block, GROUP * (block + 1)))
                place = builder.add(digits, builder.mul(at, long(4 * GROUP)))
                builder.store_to(part, place, 4)
                number = builder.add(builder.udiv(first, long(GROUP)), long(block))
                builder.store_to(number, builder.add(numbers, builder.mul(at, long(8))), 8)
                bits_of_word = ((1 << GROUP) - 1) << GROUP * block
                some = builder.and_(mask, ir.Constant(mask.type, bits_of_word))
                has = builder.icmp_unsigned("!=", some, ir.Constant(mask.type, 0))
                builder.store(builder.add(at, builder.zext(has, LONG)), count)
    _store_start(builder, start, level)
    return builder.load(count)


@emits(types.int64(*[types.int64] * 8))
def fill_whole_level(
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
    """As `fill_level`, with all words of the row: of four elements, few have none of the level."""
    start = _start(builder)
    power = builder.splat(builder.sitofp(exponent, FLOAT), LANES)
    per_block = LANES // GROUP
    kind = vector(LONG, per_block)
    number = builder.variable(kind, ir.Constant(kind, [*range(per_block)]))
    with builder.each(_blocks(builder, depth), LANES) as first:
        bits, x = _block(builder, row, depth, first)
        words = _digits(builder, x, _inside(builder, bits, least, most), power, start)
        builder.store_to(words, builder.add(digits, builder.mul(first, long(4))), 4)
        value = builder.load(number)
        at = builder.mul(builder.udiv(first, long(GROUP)), long(8))
        builder.store_to(value, builder.add(numbers, at), 8)
        builder.store(builder.add(value, constant(kind, per_block)), number)
    _store_start(builder, start, level)
    return builder.udiv(builder.add(depth, long(GROUP - 1)), long(GROUP))


def _blocks(builder: Any, depth: Any) -> Any:
    return builder.udiv(builder.add(depth, long(LANES - 1)), long(LANES))


def _inside(builder: Any, bits: Any, least: Any, most: Any) -> Any:
    """Which elements are in a level."""
    low, high = (builder.splat(builder.trunc(each, WORD), LANES) for each in (least, most))
    return builder.and_(builder.icmp_signed(">=", bits, low), builder.icmp_signed("<=", bits, high))


def _digits(builder: Any, x: Any, inside: Any, power: Any, start: Any) -> Any:
    """The digits of a block, word by word; what a level starts with is taken off `start`."""
    integers = vector(WORD, LANES)
    chosen = builder.select(inside, _scaled(builder, x, power), ir.Constant(x.type, None))
    offset = constant(integers, BALANCED)
    parts = builder.xor(builder.add(ISA.rounded(builder, chosen), offset), offset)
    parts = builder.pick(builder.bitcast(parts, vector(DIGIT, GROUP * LANES)), TRANSPOSED)
    if GROUP == 4:
        middle = constant(parts.type, -128)  # 128, as an unsigned byte
        builder.store(ISA.dot_quads(builder, builder.load(start), middle, parts), start)
    return builder.bitcast(parts, integers)


def _start(builder: Any) -> Any:
    """Sums of digits, times 128, by digit and block of words: none yet."""
    kind = vector(WORD, LANES)
    return builder.variable(kind, ir.Constant(kind, None))


def _store_start(builder: Any, start: Any, level: Any) -> None:
    total = builder.load(start)
    while total.type.count > GROUP:
        half = total.type.count // 2
        parts = [builder.pick(total, range(at, at + half)) for at in (0, half)]
        total = builder.add(*parts)
    builder.store_to(builder.neg(total), builder.add(level, long(16)), 8)


def _scaled(builder: Any, x: Any, exponent: Any) -> Any:
    """X * 2^exponent, without rounding: below 2^30 for elements of a level. exponent: whole."""
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
def multiply_digits(
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
    for vectors in range(1, VECTORS + 1):
        fits = builder.icmp_signed(">", columns, long(LANES * (vectors - 1)))
        if vectors < VECTORS:
            enough = builder.icmp_signed("<=", columns, long(LANES * vectors))
            fits = builder.and_(fits, enough)
        with builder.if_then(fits):
            name = f"nnk_multiply_digits_{vectors}x{LANES}"
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
    integers, floats = vector(WORD, LANES), vector(FLOAT, LANES)
    width = vectors * LANES
    totals = [builder.variable(floats, ir.Constant(floats, None)) for _ in range(vectors)]
    numbers = builder.add(row, long(HEAD_BYTES))
    digits = builder.add(numbers, builder.mul(capacity, long(8)))
    weights = builder.add(panel, long(COLUMN_HEAD * width))
    first = builder.variable(LONG, long(0))
    sums = [[builder.variable(integers) for _ in range(vectors)] for _ in range(USED)]
    with builder.each(builder.load_from(row, LONG, 8)) as number:
        level = builder.add(row, builder.add(long(64), builder.mul(number, long(LEVEL_BYTES))))
        begin, end = builder.load(first), builder.load_from(level, LONG, 8)
        most = MOST_WORDS[GROUP]
        parts = builder.udiv(builder.add(builder.sub(end, begin), long(most - 1)), long(most))
        with builder.each(parts, most) as done:
            for digit, slots in enumerate(sums):
                # Where bytes have dot products, a level is one part.
                at = builder.add(level, long(16 + 4 * digit))
                start = builder.splat(builder.load_from(at, WORD, 4), LANES)
                for slot in slots:
                    builder.store(start, slot)
            rest = builder.sub(builder.sub(end, begin), done)
            is_last = builder.icmp_signed("<", rest, long(most))
            with builder.each(builder.select(is_last, rest, long(most))) as word:
                at = builder.add(builder.add(begin, done), word)
                _add_word(builder, sums, at, numbers, digits, weights)
            factors = [
                builder.splat(builder.load_from(builder.add(level, long(at)), FLOAT, 4), LANES)
                for at in (8, 12)
            ]
            for j, slot in enumerate(totals):
                joined = builder.fmul(_joined(builder, [slots[j] for slots in sums]), factors[0])
                total = ISA.multiply_add(builder, joined, factors[1], builder.load(slot))
                builder.store(total, slot)
        builder.store(end, first)
    for j, slot in enumerate(totals):
        bias, scale = (
            builder.load_from(builder.add(panel, long(4 * (j * LANES + head * width))), floats, 4)
            for head in (0, 1)
        )
        value = ISA.multiply_add(builder, builder.load(slot), scale, bias)
        value = builder.clamp(value, *(builder.splat(limit, LANES) for limit in (low, high)))
        rest = builder.trunc(builder.sub(columns, long(j * LANES)), WORD)
        address = builder.add(output, long(4 * LANES * j))
        builder.masked_store(value, address, builder.lanes_before(rest, LANES), 4)
    builder.ret_void()


def _add_word(
    builder: Any, sums: Sequence[Sequence[Any]], at: Any, numbers: Any, digits: Any, weights: Any
) -> None:
    """Add the products of a word to the sums, digit by digit; at: its place in the lists."""
    vectors = len(sums[0])
    word = builder.load_from(builder.add(numbers, builder.mul(at, long(8))), LONG, 8)
    place = builder.add(weights, builder.mul(word, long(GROUP * vectors * LANES)))
    kind = vector(BYTE, GROUP * LANES)
    loaded = [
        builder.load_from(builder.add(place, long(GROUP * LANES * j)), kind, 4)
        for j in range(vectors)
    ]
    if GROUP == 2:
        loaded = [builder.sext(each, vector(HALFWORD, GROUP * LANES)) for each in loaded]
    digit = builder.add(digits, builder.mul(at, long(4 * GROUP)))
    for d, slots in enumerate(sums):
        value = builder.load_from(builder.add(digit, long(4 * d)), WORD, 4)
        x = builder.bitcast(builder.splat(value, LANES), vector(DIGIT, GROUP * LANES))
        for slot, w in zip(slots, loaded, strict=True):
            total = builder.load(slot)
            if GROUP == 4:
                total = ISA.dot_quads(builder, total, w, x)
            else:
                total = ISA.dot_pairs(builder, total, w, x)
            builder.store(total, slot)


def _joined(builder: Any, slots: Sequence[Any]) -> Any:
    """Sums of X from those of its digits, as float32."""
    floats = vector(FLOAT, LANES)
    *parts, joined = [builder.sitofp(builder.load(slot), floats) for slot in slots]
    radix = constant(floats, 2.0 ** (32 // GROUP))
    for part in reversed(parts):
        joined = ISA.multiply_add(builder, joined, radix, part)
    return joined
