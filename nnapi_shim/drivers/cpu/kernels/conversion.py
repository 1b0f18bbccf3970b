"""QUANTIZE and DEQUANTIZE: between real and quantized numbers, in float32; and CAST."""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.elements import READ, WRITE, mapped, part
from nnapi_shim.drivers.cpu.codegen.numeric import add32, bounded, rounded, truncated
from nnapi_shim.drivers.cpu.lowering.conversion import DEQUANTIZE, DEQUANTIZE_CHANNELS, QUANTIZE
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel


@helper
def limited(x, low, high):
    """max(min(x, high), low); NaN becomes `high`."""
    x = x if x < high else high
    return x if x > low else low


def quantize(variant):
    """input: float[count], output: byte[count].

    output = zero_point + round(max(min(input / scale, high), low)), halves away from zero; NaN
    becomes the largest number.
    """
    read, write = READ[variant], WRITE["b8"]

    def body(a, tile):
        x, y, scale, low, high = a.input, a.output, a.scale, a.low, a.high
        zero_point = np.int32(a.zero_point)
        first, end = part(a.count, a.part, tile)
        for i in range(first, end):
            steps = limited(read(x, i) / scale, low, high)
            write(y, i, add32(rounded(steps), zero_point))
        return 0

    body.__name__ = f"quantize_{variant}_b8"
    return kernel(QUANTIZE)(body)


def dequantize(variant, target):
    """input: byte[count], output: float[count]. output = (input - zero_point) * scale."""
    read, write = READ[variant], WRITE[target]

    def body(a, tile):
        x, y, scale, zero_point = a.input, a.output, a.scale, a.zero_point
        first, end = part(a.count, a.part, tile)
        for i in range(first, end):
            write(y, i, (read(x, i) - zero_point) * scale)
        return 0

    body.__name__ = f"dequantize_{variant}_{target}"
    return kernel(DEQUANTIZE)(body)


def dequantize_channels(target):
    """input: int8[rows, channels, length], output: float of the same shape, scales:
    float32[channels]. output[r, c, l] = input[r, c, l] * scales[c].
    """
    read, write, scale_of = READ["qs8"], WRITE[target], READ["f32"]

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

    body.__name__ = f"dequantize_qc8_{target}"
    return kernel(DEQUANTIZE_CHANNELS)(body)


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

for _target in ("f32", "f16"):
    quantize(_target)
    dequantize("qu8", _target)
    dequantize("qs8", _target)
    dequantize_channels(_target)
