"""Constant filters as words of four int8 at any byte of the input row, whose products with uint8
fit int16 in pairs (byte_pairs.py says why they have to).

In filters with a scale per channel, most words of a panel have a pair of weights that is too large
in one of its columns. Such a pair is torn apart: a word may begin at any byte, so its pairs are
(0, 1) and (2, 3), or (1, 2) and (3, 4) of the row. Words follow each other from left to right, with
weights of 0 where they overlap.

Weights of different signs are a pair of any size. So there is a second form of the input row, the
complemented one: x becomes 255 - x at odd places, and the weights there are negated, so that of a
pair that is too large in one form, the other has room in the same column:

    w * x = 255 * w + (-w) * (255 - x)

The first term is part of the bias. It is worth its copy of the input where it saves enough words.

Each vector of columns has words of its own. Most make couples, in which two words of a tap are
added in 16 bits before they are widened: of the four weights that are added then, those of one sign
may sum up to 128. Behind its head a panel has the weights, int8[words, vectors, lanes, 4]. Where
they are multiplied is in a list of each panel, apart from the weights, because weights of cached
models are only numbers (cache/cache.py):

    int64[2 * taps + 1]       number of the first word in couples and of the first other word of
                              each tap, and of all words
    int32[words, vectors]     byte offset of each word in an input row; behind `depth`, in its
                              complemented form, which follows it

A word lies in one form, so nothing is read outside of the row. There are 1.2 times as many words as
four weights each would need where rows have 64 weights, and 1.03 times where they have 512, in one
form 1.4 and 1.1 times (normally distributed weights, vectors of eight columns). Of these words, 12
and 80 % are in couples.
"""

from itertools import accumulate

from nnapi_shim import address
from nnapi_shim.drivers.cpu.lowering.byte_pairs import FILTER, packed_by
from nnapi_shim.drivers.cpu.lowering.constant_bytes import ConstantBytes
from nnapi_shim.drivers.cpu.lowering.descriptor import ProductDescriptor
from nnapi_shim.drivers.cpu.lowering.packing import (
    QUANTIZED_HEAD_BYTES,
    Filter,
    Input,
    Packed,
    Shifted,
)
from nnapi_shim.drivers.cpu.lowering.requantization import signed_zero
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling, round_up
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, record
from nnapi_shim.hal.types import byte_size
from nnapi_shim.operations.declare import BoundOperand

PLAN_WORDS = record(
    **FILTER,
    limit=INT64,
    forms=INT64,
    words=ADDRESS,
    partners=ADDRESS,
    counts=ADDRESS,
    order=ADDRESS,
    starts=ADDRESS,
    sums=ADDRESS,
    ordered=ADDRESS,
    marks=ADDRESS,
)
"""output: int32, the number of numbers of the plan or 0, its time, the number of words of the
largest panel, and the plan. limit: time above which there is no plan. forms: of the input row.
The rest is scratch memory.
"""
PACK_WORDS = record(
    **FILTER,
    bias=ADDRESS,
    multipliers=ADDRESS,
    plan=ADDRESS,
    panel_bytes=INT64,
    input_zero=INT64,
    zero_point=INT64,
    steps=INT64,
)
"""A tile is a panel."""
LIST_WORDS = record(
    plan=ADDRESS, output=ADDRESS,
    columns=INT64, taps=INT64, width=INT64, lanes=INT64, list_bytes=INT64,
)  # fmt: skip
"""output: the lists of all panels."""

LEAST_DEPTH = 4
WORTH = {4: 1.1, 8: 1.25}
"""Words per four weights, at most, by lanes of a vector: with more words, products of int16 are
faster. With 4 lanes, each word takes an instruction more, which no load does along.
"""
SINGLE, COUPLED = 5, 4
"""The time of a word, and of one in a couple."""
BUCKETS = 256
"""Of words, by which they are sorted."""
PLAN_HEAD = 3
COPIED_PER_WORD = 12
"""Bytes of the input that are copied to their second form in the time of a vector of words."""


def shifted_words(filter: BoundOperand, tiling: Tiling) -> Shifted | None:
    """The words of a filter [columns, ..., depth]; None if it is not to be multiplied by them."""
    value = filter.value
    if type(value) is not ConstantBytes or not byte_size(filter):
        return None
    columns, depth = filter.dimensions[0], filter.dimensions[-1]
    flip, zero = signed_zero(filter)
    if zero or depth < LEAST_DEPTH:
        return None
    taps = byte_size(filter) // (columns * depth)
    panels = -(-columns // tiling.columns)
    limit = int(panels * taps * depth * SINGLE * WORTH[tiling.lanes] / 4)
    # A number for each panel, two for each tap, and two for each word of a vector.
    numbers = PLAN_HEAD + panels * (1 + 2 * taps) + 2 * tiling.vectors * (limit // COUPLED + depth)
    vectors, lanes = tiling.vectors, tiling.lanes
    rooms = [
        *(4 * numbers, 8 * vectors * depth, 4 * vectors * depth),  # output, words, partners
        *(4 * vectors, 4 * depth, 4 * BUCKETS),  # counts, order, starts
        *(4 * lanes * depth, 4 * lanes * depth, depth),  # sums, ordered, marks
    ]
    memory = bytearray(sum(rooms))
    start, _keep = address.address_of(memory)
    output, *scratch = (start + room for room in accumulate(rooms[:-1], initial=0))
    sizes = columns, taps, depth, tiling.columns, tiling.lanes, flip, zero

    def planned(forms: int, limit: int) -> tuple[int, int, bytes] | None:
        """The time of all words, the number of the largest panel's, and the plan."""
        packed = PLAN_WORDS.pack(value.address, output, *sizes, limit, forms, *scratch)
        where, _keep_record = address.address_of(packed)
        library.current().function("plan_words")(where, 0)
        used, time, most = address.words(output, "int32_t", PLAN_HEAD)
        if not used:
            return None
        return time, most, bytes(memory[4 * PLAN_HEAD : 4 * used])

    with_two = planned(2, limit)
    if with_two is None:
        return None
    with_one = planned(1, min(limit, with_two[0] + SINGLE * words_worth_a_copy(depth)))
    _, most, plan = with_one or with_two
    return Shifted(most, 1 if with_one else 2, plan, _lists(plan, columns, taps, most, tiling))


def words_worth_a_copy(depth: int) -> int:
    """The words of a row that take as long as the copy of its second form."""
    return depth // COPIED_PER_WORD


def _lists(plan: bytes, columns: int, taps: int, words: int, tiling: Tiling) -> bytes:
    """The lists of all panels, which have at most so many words."""
    list_bytes = round_up(8 * (2 * taps + 1) + 4 * tiling.vectors * words, 8)
    memory = bytearray(-(-columns // tiling.columns) * list_bytes)
    where = [address.address_of(buffer) for buffer in (plan, memory)]
    sizes = columns, taps, tiling.columns, tiling.lanes, list_bytes
    packed, _keep = address.address_of(LIST_WORDS.pack(where[0][0], where[1][0], *sizes))
    library.current().function("list_words")(packed, 0)
    return bytes(memory)


def packed_words(
    product: ProductDescriptor,
    filter: Filter,
    input: Input,
    depth: int,
    tiling: Tiling,
    floored: int,
) -> Packed:
    """Pack a filter as the words that `input.shifted` names."""
    assert input.shifted is not None
    panel_bytes = tiling.columns * (QUANTIZED_HEAD_BYTES + 4 * input.shifted.words)
    sizes = product, filter, input, depth, tiling, panel_bytes, floored
    return packed_by(PACK_WORDS, "pack_words", *sizes, plan=input.shifted.plan)
