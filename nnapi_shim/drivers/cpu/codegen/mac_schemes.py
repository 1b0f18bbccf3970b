"""Multiply-accumulate schemes: words of inputs by packed weights, in matrix micro-kernels."""

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

from llvmlite import ir

from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, FLOAT, HALFWORD, WORD, constant, vector
from nnapi_shim.drivers.cpu.lowering.packing import (
    FLOAT_HEAD_BYTES,
    QUANTIZED_HEAD_BYTES,
)


class MacScheme(NamedTuple):
    """A multiply-accumulate scheme.

    accumulator, element: types of the sums and of the outputs.
    head: bytes per column in front of a panel. word_bytes: bytes of a packed word.
    mask(builder, flip, lanes): what `broadcast` gets as its flip, or a step of two words last.
    broadcast(builder, word, flip, lanes): an input word in all lanes.
    weights(builder, address, lanes): a vector of packed words.
    step(builder, sum, x, w): sum + x . w.
    words(builder, words, flip): a vector of input words, ready for `step_by_lane`.
    step_by_lane(builder, sum, words, number, w): the step of one of these words.
    has_terms: a panel ends with further terms of its words, see ../lowering/byte_pairs.py.
    together: words that a step takes at once, 1 or 2; it gets x and w of one after the other.
    is_shifted: words are at offsets that a panel lists, see ../lowering/shifted_words.py.
    plain: the scheme for a flip of 0, if there is one.
    prefetches: micro-kernels prefetch the panel `ahead`, by two instructions with each word.
    has_block_products: two rows by two columns are multiplied at once, by ISA.block_product.
    """

    name: str
    accumulator: Any
    element: Any
    head: int
    word_bytes: int
    mask: Callable[..., Any]
    broadcast: Callable[..., Any]
    weights: Callable[..., Any]
    step: Callable[..., Any]
    words: Callable[..., Any]
    step_by_lane: Callable[..., Any]
    has_terms: bool = False
    together: int = 1
    is_shifted: bool = False
    plain: Any = None
    prefetches: bool = False
    has_block_products: bool = False


def _as_they_are(builder: Any, words: Any, flip: Any) -> Any:
    """Input words are used as they are."""
    return words


def _in_all_lanes(builder: Any, words: Any, number: int, total: Any, w: Any) -> Any:
    """A word of a vector in all lanes, as a vector like w, which is as wide as `total`."""
    return builder.bitcast(builder.pick(words, [number] * total.type.count), w.type)


def _no_mask(builder: Any, flip: Any, lanes: int) -> None:
    """Input words are used as they are."""


def float32() -> MacScheme:
    """A word is a float32; sums are float32."""

    def broadcast(builder: Any, word: Any, flip: Any, lanes: int) -> Any:
        return builder.splat(builder.bitcast(word, FLOAT), lanes)

    def weights(builder: Any, address: Any, lanes: int) -> Any:
        return builder.load_from(address, vector(FLOAT, lanes), 4)

    def step(builder: Any, total: Any, x: Any, w: Any) -> Any:
        return ISA.multiply_add(builder, x, w, total)

    def step_by_lane(builder: Any, total: Any, words: Any, number: int, w: Any) -> Any:
        return step(builder, total, _in_all_lanes(builder, words, number, total, w), w)

    return MacScheme(
        *("f32", FLOAT, FLOAT, FLOAT_HEAD_BYTES, 4, _no_mask, broadcast, weights, step),
        *(_as_they_are, step_by_lane),
        prefetches=True,
    )


def halves() -> MacScheme:
    """As float32, by weights that are packed as float16."""

    def weights(builder: Any, address: Any, lanes: int) -> Any:
        half = vector(ir.HalfType(), lanes)
        return builder.fpext(builder.load_from(address, half, 2), vector(FLOAT, lanes))

    return float32()._replace(name="f32f16", word_bytes=2, weights=weights)


def pairs16(packed: Any = HALFWORD) -> MacScheme:
    """A word is two int16 of the input, zero point subtracted, by two weights, `packed` as
    int16 (zero point subtracted) or as int8.
    """
    size = packed.width // 8

    def broadcast(builder: Any, word: Any, flip: Any, lanes: int) -> Any:
        return builder.bitcast(builder.splat(word, lanes), vector(HALFWORD, 2 * lanes))

    def weights(builder: Any, address: Any, lanes: int) -> Any:
        words = builder.load_from(address, vector(packed, 2 * lanes), 2 * size)
        return words if packed is HALFWORD else builder.sext(words, vector(HALFWORD, 2 * lanes))

    def step(builder: Any, total: Any, x: Any, w: Any) -> Any:
        return ISA.dot_pairs(builder, total, x, w)

    name = f"s16s{8 * size}"
    return MacScheme(
        *(name, WORD, BYTE, QUANTIZED_HEAD_BYTES, 2 * size, _no_mask, broadcast, weights, step),
        *(_as_they_are, ISA.dot_pairs_by_lane),
    )


def sums16() -> MacScheme:
    """As pairs16; the sums themselves are the outputs."""
    return pairs16()._replace(name="s16s16sums", element=WORD, head=4)


def quads8() -> MacScheme:
    """A word is four bytes of the input, which `flip` makes uint8, by four int8 weights.

    They are int8 where the tiling has `signed_dots`.
    """

    def mask(builder: Any, flip: Any, lanes: int) -> Any:
        # From memory, because a constant here sends instruction selection of LLVM 22 into an
        # endless loop, and a word in all lanes is xor-ed before the broadcast, not after it, which
        # takes two more instructions per row.
        return builder.load_from(flip, vector(WORD, lanes), 4)

    def broadcast(builder: Any, word: Any, flip: Any, lanes: int) -> Any:
        flipped = builder.xor(builder.splat(word, lanes), flip)
        return builder.bitcast(flipped, vector(BYTE, 4 * lanes))

    def words(builder: Any, words: Any, flip: Any) -> Any:
        return builder.xor(words, flip)

    plain = plain_quads8()
    return plain._replace(name="u8s8", mask=mask, broadcast=broadcast, words=words, plain=plain)


def plain_quads8() -> MacScheme:
    """As quads8, of bytes as they are."""

    def broadcast(builder: Any, word: Any, flip: Any, lanes: int) -> Any:
        return builder.bitcast(builder.splat(word, lanes), vector(BYTE, 4 * lanes))

    def weights(builder: Any, address: Any, lanes: int) -> Any:
        return builder.load_from(address, vector(BYTE, 4 * lanes), 4)

    def step(builder: Any, total: Any, x: Any, w: Any) -> Any:
        return ISA.dot_quads(builder, total, x, w)

    def step_by_lane(builder: Any, total: Any, words: Any, number: int, w: Any) -> Any:
        return step(builder, total, _in_all_lanes(builder, words, number, total, w), w)

    return MacScheme(
        *("u8s8plain", WORD, BYTE, QUANTIZED_HEAD_BYTES, 4, _no_mask, broadcast, weights, step),
        *(_as_they_are, step_by_lane),
        prefetches=True,
        has_block_products=ISA.has_block_products,
    )


def byte_pairs(together: int = 1) -> MacScheme:
    """A word is four uint8 of the input by four int8 weights, whose products fit int16 in pairs, as
    do the sums of those of `together` neighbouring words.
    """
    instruction = getattr(ISA, "byte_pairs_name", "")  # none where it is emulated

    def ones(builder: Any, flip: Any, lanes: int) -> Any:
        """Ones that the compiler does not know: where registers are short it would read them from
        memory in each step, and a loop over couples of words has loads enough.
        """
        kind = vector(HALFWORD, 2 * lanes)
        known = constant(kind, 1)
        same = ir.FunctionType(kind, [kind])
        return builder.asm(same, "", "=x,0", [known], False) if instruction else known

    def step(builder: Any, total: Any, x: Any, w: Any, *others: Any) -> Any:
        if not others:
            return ISA.dot_byte_pairs(builder, total, x, w)
        second_x, second_w, of_ones = others
        pairs = ((x, w), (second_x, second_w))
        if not instruction:
            return reduce(lambda sum, pair: ISA.dot_byte_pairs(builder, sum, *pair), pairs, total)
        sums = [builder.call_by_name(instruction, of_ones.type, *pair) for pair in pairs]
        return ISA.dot_pairs(builder, total, builder.add(*sums), of_ones)

    name = "u8s8pairs" if together == 1 else f"u8s8pairs{together}"
    scheme = plain_quads8()._replace(
        name=name, step=step, has_terms=True, together=together, prefetches=False
    )
    return scheme._replace(mask=ones) if together > 1 else scheme


def shifted_words() -> MacScheme:
    """As byte_pairs, by words at any byte of the input, of which a step takes one or two."""
    return byte_pairs(2)._replace(
        name="u8s8words", has_terms=False, is_shifted=True, prefetches=True
    )
