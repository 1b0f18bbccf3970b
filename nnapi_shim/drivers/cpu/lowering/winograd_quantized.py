"""CONV_2D of 3x3 in 8 bits by Winograd, exactly, in products of int16.

F(2x2, 3x3) takes 16 products for 4 outputs in place of 36. It is for tiers without dot products of
bytes, which multiply int16 anyway. The filter's transform is multiplied by 4, so that it has no
fractions. Inputs and weights less their zero points are at most 255: a transformed input is at most
4 * 255 and a transformed weight at most 9 * 255, which fit int16. Sums are taken modulo 2^32, which
does not matter if 4 times the result fits int32; larger depths are multiplied directly.

F(4x4, 3x3) takes 36 products for 16 outputs in place of 144: half the time of dot products of
bytes. The six transforms of three weights are multiplied by 4, -6, -6, 24, 24 and 1: transformed
inputs are at most 100 * 255, transformed weights 49 * 255. What the output's transform makes of the
products is 9 * 2^n times the result, n up to 6. Modulo 2^32, 9 has an inverse: so 2^n times the
result comes out exactly if 64 times the result fits int32, and a shift divides the rest. A filter
is 8 times as large as its bytes; where the image is small, reading it would take longer.
"""

from nnapi_shim import address
from nnapi_shim.drivers.cpu.lowering.constant_bytes import ConstantBytes
from nnapi_shim.drivers.cpu.lowering.descriptor import ConvolutionDescriptor
from nnapi_shim.drivers.cpu.lowering.packing import QUANTIZED_HEAD_BYTES, multipliers
from nnapi_shim.drivers.cpu.lowering.requantization import (
    FINISH,
    finish,
    float64s,
    floored_steps,
    signed_zero,
)
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling, round_up, tier
from nnapi_shim.drivers.cpu.lowering.winograd import (
    GEOMETRY,
    Form,
    fits,
    multiplied,
    patches,
)
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Buffer, Step, record
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperand

WINOGRAD_Q8 = record(
    input=ADDRESS, filter=ADDRESS, **GEOMETRY, flip=INT64, input_zero=INT64, fill=INT64, **FINISH
)
"""flip makes the input int8, whose zero point is input_zero. fill: the zero point as stored."""
PACK_WINOGRAD_Q8 = record(
    filter=ADDRESS,
    bias=ADDRESS,
    multipliers=ADDRESS,
    output=ADDRESS,
    columns=INT64,
    depth=INT64,
    width=INT64,
    flip=INT64,
    filter_zero=INT64,
    zero_point=INT64,
    steps=INT64,
)
"""A tile is a panel: int32 biases and the requantization table, then 16 or 36 matrices of
[1 + depth / 2, width] words, the first row of which is 0.
"""
LARGEST_SUM = record(
    filter=ADDRESS, output=ADDRESS, columns=INT64, elements=INT64, flip=INT64, filter_zero=INT64
)
"""filter: [columns, elements], output: int64."""
APART = 64
"""Bytes between the points of F(4x4, 3x3): a transform reads or writes 36 lines of the cache, which
at multiples of 4096 bytes would take each other's place.
"""
SMALL = Form(1, 2)
LARGE = Form(1, 2, side=4, block_bytes=192 << 10, apart=APART)

WORTH = 1.25
"""Products per transformed element, in vectors, below which bytes are multiplied directly in less
time than by F(2x2, 3x3): the transforms of inputs take time by depth, those of outputs by columns.
"""
PRODUCT_TIME = {4: 1.35, 8: 1.65}
"""The time of a product of F(2x2, 3x3), its share of the transforms included, in products of
shifted_words.py, by lanes of a vector.
"""
LARGE_PATCHES, CACHED = 36, 1 << 20
"""Patches of 4x4, at least, for filters of more transformed bytes than the cache keeps."""
INPUTS, OUTPUTS = 300, 450
"""About how long the transforms of a patch of 4x4 take, in products of vectors: those of the
input's channels that are taken at once, and of a vector of output columns.
"""


def form_of(conv: ConvolutionDescriptor, tiling: Tiling) -> Form | None:
    """How a 3x3 convolution of bytes is computed; None if its bytes are multiplied directly."""
    if not conv.product.quantized:
        return None
    if _pays_large(conv, tiling):
        return LARGE
    return SMALL if tiling.group == 2 and _pays_small(conv, tiling) else None


def is_behind_words(conv: ConvolutionDescriptor, tiling: Tiling, form: Form) -> bool:
    """Whether a form takes longer than shifted_words.py, if that multiplies the filter: where
    patches hang over an image, and their last tile is not full, there are many products in vain.
    """
    if form is not SMALL or tiling.lanes not in PRODUCT_TIME:
        return False
    window = conv.window
    outputs = window.batch * window.vertical.output * window.horizontal.output
    products = form.points * round_up(patches(window), tiling.rows)
    return products * PRODUCT_TIME[tiling.lanes] > 9 * outputs


def _pays_small(conv: ConvolutionDescriptor, tiling: Tiling) -> bool:
    depth, columns = conv.window.in_depth, conv.filter.dimensions[0]
    if depth * columns <= WORTH * tiling.lanes * (depth + columns):
        return False
    input, filter = (_largest(signed_zero(x)[1]) for x in (conv.product.input, conv.filter))
    largest = 4 * 9 * depth * input * filter
    return largest < 1 << 31 and fits(conv, tiling, 2 * tiling.lanes)


def _pays_large(conv: ConvolutionDescriptor, tiling: Tiling) -> bool:
    window, lanes = conv.window, tiling.lanes
    depth, columns = window.in_depth, conv.filter.dimensions[0]
    is_cached = LARGE.points * LARGE.row * depth * columns <= CACHED
    least = 1 if is_cached else LARGE_PATCHES
    if not tier().large_patches or not fits(conv, tiling, channels(tiling), LARGE.side, least):
        return False
    outputs = window.batch * window.vertical.output * window.horizontal.output
    direct = outputs * 9 * depth * columns / (tiling.group * lanes)
    products = LARGE.points * depth * columns / (2 * lanes)
    transforms = INPUTS * depth / channels(tiling) + OUTPUTS * columns / lanes
    count = patches(window, LARGE.side)
    if round_up(count, tiling.rows) * products + count * transforms >= direct:
        return False
    input, filter = (_largest(signed_zero(x)[1]) for x in (conv.product.input, conv.filter))
    limit = ((1 << 31) - 1) // (64 * input)
    return 9 * depth * filter <= limit or _largest_sum(conv.filter) <= limit


def channels(tiling: Tiling) -> int:
    """How many channels the input's transform of F(4x4, 3x3) takes at once."""
    return min(2 * tiling.lanes, 16)


def _largest(zero: int) -> int:
    """The largest magnitude of an int8 less its zero point."""
    return max(128 + zero, 127 - zero)


def _largest_sum(filter: BoundOperand) -> int:
    """The largest sum of magnitudes of a column of weights less the zero point; 2^31 for a filter
    that is no constant.
    """
    value = filter.value
    if type(value) is not ConstantBytes:
        return 1 << 31
    output, _keep = address.address_of(bytearray(8))
    flip, zero = signed_zero(filter)
    sizes = filter.dimensions[0], 9 * filter.dimensions[-1], flip, zero
    packed = LARGEST_SUM.pack(value.address, output, *sizes)
    where, _keep_record = address.address_of(packed)
    library.current().function("largest_sum")(where, 0)
    (largest,) = address.words(output, "int64_t", 1)
    return largest


def winograd_quantized(
    conv: ConvolutionDescriptor, source: Any, target: Any, tiling: Tiling, form: Form
) -> list[Step]:
    """Transform and pack the filter, and multiply."""
    product, depth, columns = conv.product, conv.window.in_depth, conv.filter.dimensions[0]
    window = conv.window
    outputs = window.batch * window.vertical.output * window.horizontal.output
    variant = "4x4_q8" if form is LARGE else "q8"
    filter = Buffer(columns * (QUANTIZED_HEAD_BYTES + form.points * (2 * depth + 4)))
    flip, filter_zero = signed_zero(conv.filter)
    packing = Step(
        PACK_WINOGRAD_Q8,
        f"pack_winograd_{variant}",
        tiles=-(-columns // tiling.columns),
        once=True,
        filter=conv.filter,
        bias=product.bias,
        multipliers=float64s(multipliers(product, conv.filter, columns)),
        output=filter,
        columns=columns,
        depth=depth,
        width=tiling.columns,
        flip=flip,
        filter_zero=filter_zero,
        zero_point=signed_zero(product.output)[1],
        steps=floored_steps(product, conv.filter, outputs),
    )
    flip, input_zero = signed_zero(product.input)
    fields: dict[str, Any] = {
        "input": source,
        "filter": filter,
        "flip": flip,
        "input_zero": input_zero,
        "fill": product.input.zero_point & 0xFF,
        **finish(product.activation, product.output),
    }
    return [packing, *multiplied(WINOGRAD_Q8, variant, form, conv, target, fields, tiling)]
