"""CONCATENATION: rows of bytes, copied or requantized, from one pitch to another."""

import numpy as np

from nnapi_shim.drivers.cpu.kernels.elements import READ, WRITE
from nnapi_shim.drivers.cpu.kernels.kernel import kernel
from nnapi_shim.drivers.cpu.kernels.numeric import add32, bounded, copy_bytes, rounded
from nnapi_shim.drivers.cpu.lowering.joining import COPY_ROWS, REQUANTIZE


@kernel(COPY_ROWS)
def copy_rows(a, tile):
    """`rows` rows of `bytes` bytes, input_step and output_step bytes apart."""
    count, input_step, output_step = a.bytes, a.input_step, a.output_step
    first = tile * a.tile_rows
    end = min(first + a.tile_rows, a.rows)
    x, y = a.input + first * input_step, a.output + first * output_step
    for _ in range(first, end):
        copy_bytes(y, x, count)
        x, y = x + input_step, y + output_step
    return 0


def requantize(variant, flip):
    """As copy_rows, every byte q as zero_point + round(q * scale + offset), in float32.

    q is unsigned: signed ones are flipped to be 128 higher.
    """
    read, write = READ["u8"], WRITE["b8"]

    def body(a, tile):
        scale, offset, low, high = a.scale, a.offset, a.low, a.high
        count, zero_point = a.bytes, np.int32(a.zero_point)
        first = tile * a.tile_rows
        end = min(first + a.tile_rows, a.rows)
        x, y = a.input + first * a.input_step, a.output + first * a.output_step
        for _ in range(first, end):
            for i in range(count):
                steps = np.float32(read(x, i) ^ flip) * scale + offset
                write(y, i, add32(rounded(bounded(steps, low, high)), zero_point))
            x, y = x + a.input_step, y + a.output_step
        return 0

    body.__name__ = f"requantize_{variant}"
    return kernel(REQUANTIZE)(body)


requantize("qu8", np.uint8(0))
requantize("qs8", np.uint8(128))
