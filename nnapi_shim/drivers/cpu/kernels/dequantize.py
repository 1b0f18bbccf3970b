"""Quantized numbers of 16 bits as float32, and float32 as quantized numbers of boxes and scores."""

from nnapi_shim.drivers.cpu.codegen.elements import READ, WRITE, part
from nnapi_shim.drivers.cpu.codegen.numeric import bounded, rounded
from nnapi_shim.drivers.cpu.lowering.conversion import DEQUANTIZE
from nnapi_shim.drivers.cpu.lowering.dequantize import STORE
from nnapi_shim.drivers.cpu.toolchain.kernel import kernel

read_float, write_float = READ["f32"], WRITE["f32"]


def dequantize(variant):
    """input: halfword[count], output: float32[count]. output = (input - zero_point) * scale."""
    read = READ[variant]

    def body(a, tile):
        x, y, scale, zero_point = a.input, a.output, a.scale, a.zero_point
        first, end = part(a.count, a.part, tile)
        for i in range(first, end):
            write_float(y, i, (read(x, i) - zero_point) * scale)
        return 0

    body.__name__ = f"dequantize_{variant}_f32"
    return kernel(DEQUANTIZE)(body)


dequantize("qu16")
dequantize("qs16")


def store(bits):
    """input: float32[count], output: integers of so many bits; NaN becomes the smallest number.

    output = round(min(max(input / scale + zero_point, low), high)), halves away from zero.
    """
    write = WRITE[f"b{bits}"]

    def body(a, tile):
        x, y, scale, zero_point, low, high = a.input, a.output, a.scale, a.zero_point, a.low, a.high
        first, end = part(a.count, a.part, tile)
        for i in range(first, end):
            write(y, i, rounded(bounded(read_float(x, i) / scale + zero_point, low, high)))
        return 0

    body.__name__ = f"store_{bits}"
    return kernel(STORE)(body)


store(8)
store(16)
