"""Constant filters as int8 terms whose products with uint8 fit int16 in pairs.

PMADDUBSW multiplies uint8 by int8 and adds neighbouring products, saturated to int16. The sum of
a pair cannot saturate if its positive weights add up to at most 128 and its negative ones to at
least -128, because 255 * 128 < 2^15. A pair of weights, less the zero point, that exceeds this is
written as a sum of several such pairs, its terms. The first terms of all words are multiplied in
the order of the depth. After each tap follow the further terms of its words, which are a list at
the end of the panel:

    int64[taps + 1]                     number of the first further term of each tap, and of all
    {int64, int8[columns, 4]}[terms]    byte offset of the word in an input row, and the term

A word has as many terms as the pair that needs most of them, of all columns of the panel. In
trained models, 2 to 12 % of the words of filters with one scale have further terms, and about 60 %
where every channel has a scale of its own.

The sums of pairs of two neighbouring words can be added before they are widened to int32, one
instruction of five less, if what holds for the weights of a pair holds for those of both pairs
together. Where weights are small, there are hardly more further terms for it.
"""

from nnapi_shim import address
from nnapi_shim.drivers.cpu.lowering.constant_bytes import ConstantBytes
from nnapi_shim.drivers.cpu.lowering.descriptor import ProductDescriptor
from nnapi_shim.drivers.cpu.lowering.packing import (
    QUANTIZED_HEAD_BYTES,
    Filter,
    Input,
    Packed,
    Terms,
)
from nnapi_shim.drivers.cpu.lowering.requantization import float64s, signed_zero
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Buffer, Record, Step, record
from nnapi_shim.hal.types import byte_size
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperand

FILTER = {
    "filter": ADDRESS,
    "output": ADDRESS,
    "columns": INT64,
    "taps": INT64,
    "depth": INT64,
    "width": INT64,
    "lanes": INT64,
    "flip": INT64,
    "filter_zero": INT64,
}
COUNT_TERMS = record(**FILTER, together=INT64, exceeding=ADDRESS, limit=INT64)
"""output: int64[2]. together: words whose sums of pairs are added in 16 bits, 1 or 2.
exceeding: scratch memory, a byte for each word of a column.
limit: number of further terms above which the rest need not be counted.
"""
PACK_TERMS = record(
    **FILTER,
    together=INT64,
    bias=ADDRESS,
    multipliers=ADDRESS,
    panel_bytes=INT64,
    terms=INT64,
    input_zero=INT64,
    zero_point=INT64,
    steps=INT64,
)
"""terms: number of further terms that a panel has room for. A tile is a panel."""

WORTH = 5
"""Words per further term, at least: with more terms, products of int16 are faster."""
TOGETHER = 2
"""Words whose sums of pairs can be added in 16 bits."""
TOGETHER_WORTH = 10
"""Words per term more, at least, with which it is faster to add them in 16 bits: a loop over words
takes an eighth less.
"""


def further_terms(filter: BoundOperand, tiling: Tiling) -> Terms | None:
    """The further terms of a filter [columns, ..., depth]; None if it is not to be multiplied in
    pairs of bytes.
    """
    value = filter.value
    if type(value) is not ConstantBytes or not byte_size(filter):
        return None
    columns, depth = filter.dimensions[0], filter.dimensions[-1]
    taps = byte_size(filter) // (columns * depth)
    panels = -(-columns // tiling.columns)
    words = taps * -(-depth // 4)
    memory = bytearray(16 + words)
    output, _keep = address.address_of(memory)
    sizes = columns, taps, depth, tiling.columns, tiling.lanes, *signed_zero(filter)

    def counted(together: int, limit: int) -> tuple[int, int]:
        """Number of all further terms, more than the limit if it is exceeded, and the largest."""
        packed = COUNT_TERMS.pack(value.address, output, *sizes, together, output + 16, limit)
        where, _keep_record = address.address_of(packed)
        library.current().function("count_terms")(where, 0)
        total, most = address.words(output, "int64_t", 2)
        return total, most

    limit = panels * words // WORTH
    total, most = counted(1, limit)
    if total > limit:
        return None
    if depth % (4 * TOGETHER) == 0:
        limit = total + panels * words // TOGETHER_WORTH
        total, most_together = counted(TOGETHER, limit)
        if total <= limit:
            return Terms(most_together, TOGETHER)
    return Terms(most, 1)


def packed_terms(
    product: ProductDescriptor,
    filter: Filter,
    input: Input,
    depth: int,
    tiling: Tiling,
    floored: int,
) -> Packed:
    """Pack a filter with the further terms that `input.terms` names."""
    assert input.terms is not None
    most, taps, width = input.terms.most, filter.taps, tiling.columns
    panel_bytes = width * (QUANTIZED_HEAD_BYTES + 4 * taps * input.words)
    panel_bytes += 8 * (taps + 1) + most * (8 + 4 * width)
    sizes = product, filter, input, depth, tiling, panel_bytes, floored
    together = input.terms.together
    return packed_by(PACK_TERMS, "pack_terms", *sizes, together=together, terms=most)


def packed_by(
    layout: Record,
    kernel: str,
    product: ProductDescriptor,
    filter: Filter,
    input: Input,
    depth: int,
    tiling: Tiling,
    panel_bytes: int,
    floored: int,
    **own: Any,
) -> Packed:
    """Pack a filter by a kernel that takes FILTER and the requantization, and fields of its own."""
    panels = -(-filter.columns // tiling.columns)
    buffer = Buffer(panels * panel_bytes)
    flip, zero = signed_zero(filter.operand)
    step = Step(
        layout,
        kernel,
        once=True,
        tiles=panels,
        filter=filter.source,
        output=buffer,
        columns=filter.columns,
        taps=filter.taps,
        depth=depth,
        width=tiling.columns,
        lanes=tiling.lanes,
        flip=flip,
        filter_zero=zero,
        bias=filter.bias,
        multipliers=float64s(filter.multipliers),
        panel_bytes=panel_bytes,
        input_zero=input.zero,
        zero_point=signed_zero(product.output)[1],
        steps=floored,
        **own,
    )
    return Packed(step, buffer, filter.columns, panels, panel_bytes, 0, True)
