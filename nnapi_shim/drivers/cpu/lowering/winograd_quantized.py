"""CONV_2D of 3x3 in 8 bits by Winograd's F(2x2, 3x3), exactly, where integers are multiplied as
int16 (tiers without dot products of bytes): 16 products for 4 outputs in place of 36.

The filter's transform is multiplied by 4, so that it has no fractions. Inputs and weights less
their zero points are at most 255: a transformed input is at most 4 * 255 and a transformed weight
at most 9 * 255, which fit int16. Sums are taken modulo 2^32, which does not matter if 4 times the
result fits int32; larger depths are multiplied directly.
"""

from nnapi_shim.drivers.cpu.lowering.descriptor import ConvolutionDescriptor
from nnapi_shim.drivers.cpu.lowering.packing import QUANTIZED_HEAD_BYTES, multipliers
from nnapi_shim.drivers.cpu.lowering.requantization import (
    FINISH,
    finish,
    float64s,
    signed_zero,
)
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling
from nnapi_shim.drivers.cpu.lowering.winograd import GEOMETRY, POINTS, Elements, fits, multiplied
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Buffer, Step, record
from nnapi_shim.hints import Any

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
)
"""A tile is a panel: int32 biases and the requantization table, then 16 matrices of
[1 + depth / 2, width] words, the first row of which is 0.
"""
BYTES = Elements(1, 2)


WORTH = 1.25
"""Products per transformed element, in vectors, below which bytes are multiplied directly in less
time: the transforms of inputs take time by depth, those of outputs by columns.
"""


def pays_quantized(conv: ConvolutionDescriptor, tiling: Tiling) -> bool:
    """Whether a convolution is a large enough 3x3 convolution of bytes, whose sums fit."""
    if not conv.product.quantized or tiling.group != 2:
        return False
    depth, columns = conv.window.in_depth, conv.filter.dimensions[0]
    if depth * columns <= WORTH * tiling.lanes * (depth + columns):
        return False
    input, filter = (_largest(signed_zero(x)[1]) for x in (conv.product.input, conv.filter))
    largest = 4 * 9 * depth * input * filter
    return largest < 1 << 31 and fits(conv, tiling, 2 * tiling.lanes)


def _largest(zero: int) -> int:
    """The largest magnitude of an int8 less its zero point."""
    return max(128 + zero, 127 - zero)


def winograd_quantized(
    conv: ConvolutionDescriptor, source: Any, target: Any, tiling: Tiling
) -> list[Step]:
    """Transform and pack the filter, and multiply."""
    product, depth, columns = conv.product, conv.window.in_depth, conv.filter.dimensions[0]
    filter = Buffer(columns * (QUANTIZED_HEAD_BYTES + POINTS * (2 * depth + 4)))
    flip, filter_zero = signed_zero(conv.filter)
    packing = Step(
        PACK_WINOGRAD_Q8,
        "pack_winograd_q8",
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
    return [packing, *multiplied(WINOGRAD_Q8, "q8", BYTES, conv, target, fields, tiling)]
