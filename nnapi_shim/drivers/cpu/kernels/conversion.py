"""QUANTIZE and DEQUANTIZE: between real and quantized numbers, in float32; and CAST."""

from itertools import product

import numpy as np

from nnapi_shim.drivers.cpu.codegen.elements import READ, WRITE, elementwise, mapped
from nnapi_shim.drivers.cpu.codegen.numeric import add32, bounded, rounded, truncated
from nnapi_shim.drivers.cpu.lowering.conversion import DEQUANTIZE, DEQUANTIZE_CHANNELS, QUANTIZE
from nnapi_shim.drivers.cpu.lowering.dequantize import STORE
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel


@helper
def limited(x, low, high):
    """max(min(x, high), low); NaN becomes `high`."""
    x = x if x < high else high
    return x if x > low else low


@helper
def quantized(x, values):
    """The zero point + round(max(min(x / scale, high), low)), halves away from zero; NaN becomes
    the largest number.
    """
    scale, low, high, zero_point = values
    return add32(rounded(limited(x / scale, low, high)), zero_point)


@helper
def dequantized(x, values):
    """The real number (x - zero_point) * scale."""
    scale, zero_point = values
    return (x - zero_point) * scale


@helper
def stored(x, values):
    """round(min(max(x / scale + zero_point, low), high)), halves away from zero, for numbers of
    boxes and scores; NaN becomes the smallest number.
    """
    scale, zero_point, low, high = values
    return rounded(bounded(x / scale + zero_point, low, high))


quantization = helper(lambda a: (a.scale, a.low, a.high, np.int32(a.zero_point)))
dequantization = helper(lambda a: (a.scale, a.zero_point))
storing = helper(lambda a: (a.scale, a.zero_point, a.low, a.high))


def dequantize_channels(target):
    """input: int8[rows, channels, length], output: float of the same shape, scales:
    float32[channels]. output[r, c, l] = input[r, c, l] * scales[c].
    """
    read, write, scale_of = READ["qs8"], WRITE[target], READ["f32"]

    @kernel(DEQUANTIZE_CHANNELS, f"dequantize_qc8_{target}")
    def body(a, tile):
        x, y, scales, channels, length = a.input, a.output, a.scales, a.channels, a.length
        first = tile * a.tile_rows
        end = min(first + a.tile_rows, a.rows)
        if length == 1:  # the loop over the channels is the long one
            for row in range(first, end):
                for c in range(channels):
                    at = row * channels + c
                    write(y, at, read(x, at) * scale_of(scales, c))
        else:
            for row in range(first * channels, end * channels):
                scale = scale_of(scales, row % channels)
                for i in range(row * length, (row + 1) * length):
                    write(y, i, read(x, i) * scale)
        return 0


ZERO, BYTE_LIMIT = np.float32(0), np.float32(255)
WORD_LOW, WORD_LIMIT = np.float32(-(2.0**31)), np.float32(2.0**31)
BELOW_WORD_LIMIT = np.nextafter(WORD_LIMIT, ZERO)


@helper
def float_to_byte(x):
    """Toward zero, within 0 to 255; NaN becomes 0."""
    return truncated(bounded(x, ZERO, BYTE_LIMIT))


@helper
def float_to_word(x):
    """Toward zero, within the range of int32; NaN becomes 0."""
    x = x if x == x else ZERO
    within = truncated(bounded(x, WORD_LOW, BELOW_WORD_LIMIT))
    return np.int64(within if x < WORD_LIMIT else np.int32(2**31 - 1))


@helper
def word_to_byte(x):
    """Within 0 to 255."""
    return np.int32(min(max(x, 0), 255))


for _source in ("f32", "f16"):
    mapped("cast", float_to_byte, _source, "b8")
    mapped("cast", float_to_word, _source, "i32")
    mapped("cast", np.float32, "i32", _source)
mapped("cast", word_to_byte, "i32", "b8")
mapped("cast", np.int64, "u8", "i32")

for _float in ("f32", "f16"):
    elementwise(
        f"quantize_{_float}_b8", QUANTIZE, READ[_float], WRITE["b8"], quantized, quantization
    )
    dequantize_channels(_float)
for _source, _target in (
    *product(("qu8", "qs8"), ("f32", "f16")),
    *product(("qu16", "qs16"), ("f32",)),
):
    _name = f"dequantize_{_source}_{_target}"
    elementwise(_name, DEQUANTIZE, READ[_source], WRITE[_target], dequantized, dequantization)
for _bits in (8, 16):
    elementwise(f"store_{_bits}", STORE, READ["f32"], WRITE[f"b{_bits}"], stored, storing)
