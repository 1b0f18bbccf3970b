"""CONCATENATION: rows of bytes requantized, from one pitch to another."""

import numpy as np

from nnapi_shim.drivers.cpu.kernels.elements import READ, WRITE
from nnapi_shim.drivers.cpu.kernels.kernel import kernel
from nnapi_shim.drivers.cpu.kernels.numeric import add32, bounded, rounded
from nnapi_shim.drivers.cpu.lowering.joining import REQUANTIZE


def requantize(variant, flip):
    """`rows` rows of `bytes` bytes, input_step and output_step bytes apart; every byte q becomes
    zero_point + round(q * scale + offset), in float32.

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
