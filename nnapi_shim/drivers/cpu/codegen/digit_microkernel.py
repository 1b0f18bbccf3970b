"""Emitters of digit products: see ../lowering/digit_products.py."""

from collections.abc import Sequence
from typing import Any, NamedTuple

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
    BINADES,
    COLUMN_HEAD,
    DIGITS,
    HEAD_BYTES,
    LEVEL_BYTES,
    MOST_WORDS,
    NUMBER_BYTES,
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


@emits(types.int64(*[types.int64] * 6))
def fill_whole(
    builder: Any, row: Any, depth: Any, exponent: Any, numbers: Any, digits: Any, level: Any
) -> Any:
    """Write the first level, of all elements: x = X * 2^-exponent; returns the number of its words.

    Where bytes have dot products, it has all words: of four elements, few are 0.
    """
    sums, power = _sums(builder), builder.splat(builder.sitofp(exponent, FLOAT), LANES)
    listed = _List(builder, numbers, digits, 4 * GROUP)
    with builder.each(_blocks(builder, depth), LANES) as first:
        _, x = _block(builder, row, depth, first)
        integers = ISA.rounded(builder, _scaled(builder, x, power))
        words = _digits(builder, integers, sums)
        if GROUP == 4:
            builder.store_to(words, builder.add(digits, builder.mul(first, long(4))), 4)
        else:
            listed.append(first, words, integers)
    _store_start(builder, sums, level)
    if GROUP == 4:
        return builder.udiv(builder.add(depth, long(GROUP - 1)), long(GROUP))
    return builder.load(listed.count)


@emits(types.int64(*[types.int64] * 7))
def fill_digit(
    builder: Any,
    row: Any,
    depth: Any,
    below: Any,
    exponent: Any,
    numbers: Any,
    digits: Any,
    level: Any,
) -> Any:
    """Append the words of a further level to the lists at `numbers` and `digits`; returns how many.

    below: bits of the magnitude that its elements are below. x = X * 2^-exponent, of which the
    levels before have all but the last BINADES bits.
    """
    words, sums = vector(WORD, LANES), _sums(builder)
    power = builder.splat(builder.sitofp(builder.sub(exponent, long(BINADES)), FLOAT), LANES)
    listed = _List(builder, numbers, digits, 4)
    most = builder.splat(builder.trunc(below, WORD), LANES)
    with builder.each(_blocks(builder, depth), LANES) as first:
        bits, x = _block(builder, row, depth, first)
        inside = builder.icmp_signed("<", bits, most)
        mask = _mask(builder, builder.and_(inside, _is_some(builder, bits)))
        with builder.if_then(_is_some(builder, mask)):  # few are
            scaled = _scaled(builder, x, power)
            before = ISA.rounded(builder, scaled)
            whole = builder.fmul(scaled, constant(scaled.type, 2.0**BINADES))
            digit = builder.sub(
                ISA.rounded(builder, whole), builder.shl(before, constant(words, BINADES))
            )
            digit = builder.select(inside, digit, ir.Constant(words, None))
            if GROUP == 4:
                taken = builder.mul(digit, constant(words, 128))
                builder.store(builder.add(builder.load(sums), taken), sums)
            narrow = builder.trunc(digit, vector(DIGIT, LANES))
            packed = builder.bitcast(narrow, vector(WORD, LANES // GROUP))
            listed.append(first, packed, digit)
    _store_start(builder, sums, level, 1)
    return builder.load(listed.count)


class _List:
    """Words of a level being appended: their numbers, and `size` bytes of digits of each."""

    def __init__(self, builder: Any, numbers: Any, digits: Any, size: int) -> None:
        self._builder, self._numbers, self._digits = builder, numbers, digits
        self._size, self.count = size, builder.variable(LONG, long(0))

    def append(self, first: Any, words: Any, values: Any) -> None:
        """The words of the block from element `first` on of which some values are not 0."""
        builder, size = self._builder, self._size
        mask = _mask(builder, _is_some(builder, values))
        for block in range(LANES // GROUP):
            at = builder.load(self.count)
            part = builder.pick(words, range(size // 4 * block, size // 4 * (block + 1)))
            builder.store_to(part, builder.add(self._digits, builder.mul(at, long(size))), 4)
            number = builder.add(builder.udiv(first, long(GROUP)), long(block))
            place = builder.add(self._numbers, builder.mul(at, long(NUMBER_BYTES)))
            builder.store_to(builder.trunc(number, HALFWORD), place, NUMBER_BYTES)
            bits_of_word = ((1 << GROUP) - 1) << GROUP * block
            some = builder.and_(mask, ir.Constant(mask.type, bits_of_word))
            has = builder.zext(_is_some(builder, some), LONG)
            builder.store(builder.add(at, has), self.count)


def _blocks(builder: Any, depth: Any) -> Any:
    return builder.udiv(builder.add(depth, long(LANES - 1)), long(LANES))


def _is_some(builder: Any, value: Any) -> Any:
    return builder.icmp_unsigned("!=", value, ir.Constant(value.type, None))


def _mask(builder: Any, lanes: Any) -> Any:
    """A bit for each lane."""
    return builder.bitcast(lanes, ir.IntType(LANES))


def _digits(builder: Any, integers: Any, sums: Any) -> Any:
    """The digits of a block, word by word; 128 times each is added to `sums`."""
    offset = constant(integers.type, BALANCED)
    parts = builder.xor(builder.add(integers, offset), offset)
    parts = builder.pick(builder.bitcast(parts, vector(DIGIT, GROUP * LANES)), TRANSPOSED)
    if GROUP == 4:
        middle = constant(parts.type, -128)  # 128, as an unsigned byte
        builder.store(ISA.dot_quads(builder, builder.load(sums), middle, parts), sums)
    return builder.bitcast(parts, integers.type)


def _sums(builder: Any) -> Any:
    """Sums of digits, times 128: none yet. Of a whole level by digit and block of words."""
    kind = vector(WORD, LANES)
    return builder.variable(kind, ir.Constant(kind, None))


def _store_start(builder: Any, sums: Any, level: Any, digits: int = GROUP) -> None:
    """What the sums of so many digits start with."""
    total = builder.load(sums)
    while total.type.count > digits:
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
    floats, width = vector(FLOAT, LANES), vectors * LANES
    totals = [builder.variable(floats, ir.Constant(floats, None)) for _ in range(vectors)]
    numbers = builder.add(row, long(HEAD_BYTES))
    digits = builder.add(numbers, builder.mul(capacity, long(NUMBER_BYTES)))
    weights = builder.add(panel, long(COLUMN_HEAD * width))
    level, count = builder.add(row, long(64)), builder.load_from(row, LONG, 8)
    with builder.if_then(builder.icmp_signed(">", count, long(0))):
        end = builder.load_from(level, LONG, 8)
        place = _Place(numbers, digits, weights, USED, GROUP == 4)
        _add_level(builder, totals, level, long(0), end, place)
        begin = builder.variable(LONG, end)
        # Behind the digits of the first level there is one for each word.
        digits = builder.add(digits, builder.mul(end, long(4 * GROUP - 4)))
        place = _Place(numbers, digits, weights, 1, False)
        with builder.each(builder.sub(count, long(1)), LEVEL_BYTES) as offset:
            further = builder.add(level, builder.add(offset, long(LEVEL_BYTES)))
            end = builder.load_from(further, LONG, 8)
            _add_level(builder, totals, further, builder.load(begin), end, place)
            builder.store(end, begin)
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


class _Place(NamedTuple):
    """Where the words of a level are. used: digits of each that are not all 0. is_whole: it has all
    words, and needs no numbers.
    """

    numbers: Any
    digits: Any
    weights: Any
    used: int
    is_whole: bool


def _add_level(
    builder: Any, totals: Sequence[Any], level: Any, begin: Any, end: Any, place: _Place
) -> None:
    """Add the products of a level, of the words from `begin` to `end`, to the totals."""
    integers = vector(WORD, LANES)
    sums = [[builder.variable(integers) for _ in totals] for _ in range(place.used)]
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
            _add_word(builder, sums, builder.add(builder.add(begin, done), word), place)
        factors = [
            builder.splat(builder.load_from(builder.add(level, long(at)), FLOAT, 4), LANES)
            for at in (8, 12)
        ]
        for j, slot in enumerate(totals):
            joined = builder.fmul(_joined(builder, [slots[j] for slots in sums]), factors[0])
            total = ISA.multiply_add(builder, joined, factors[1], builder.load(slot))
            builder.store(total, slot)


def _add_word(builder: Any, sums: Sequence[Sequence[Any]], at: Any, place: _Place) -> None:
    """Add the products of a word to the sums, digit by digit; at: its place in the lists."""
    vectors, number = len(sums[0]), at
    if not place.is_whole:
        entry = builder.add(place.numbers, builder.mul(at, long(NUMBER_BYTES)))
        number = builder.zext(builder.load_from(entry, HALFWORD, NUMBER_BYTES), LONG)
    weights = builder.add(place.weights, builder.mul(number, long(GROUP * vectors * LANES)))
    kind = vector(BYTE, GROUP * LANES)
    loaded = [
        builder.load_from(builder.add(weights, long(GROUP * LANES * j)), kind, 4)
        for j in range(vectors)
    ]
    if GROUP == 2:
        loaded = [builder.sext(each, vector(HALFWORD, GROUP * LANES)) for each in loaded]
    size = 4 * (GROUP if place.used > 1 else 1)
    digit = builder.add(place.digits, builder.mul(at, long(size)))
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
