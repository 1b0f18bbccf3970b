"""Activations: one element in, one out. Computed in float32, rounded once to the stored type."""

import numpy as np

from nnapi_shim.drivers.cpu.kernels.elements import READ, WRITE, part
from nnapi_shim.drivers.cpu.kernels.exponential import logistic, tanh
from nnapi_shim.drivers.cpu.kernels.kernel import kernel
from nnapi_shim.drivers.cpu.kernels.numeric import clamp
from nnapi_shim.drivers.cpu.lowering.activation import CLAMP, CLAMP_RAW, LOOKUP, MAP

u8, write_b8 = READ["u8"], WRITE["b8"]


def clamp_float(variant):
    """input, output: float[count]. output = min(max(input, low), high); NaN stays NaN."""
    read, write = READ[variant], WRITE[variant]

    def body(a, tile):
        x, y, low, high = a.input, a.output, a.low, a.high
        first, end = part(a.count, tile)
        for i in range(first, end):
            write(y, i, clamp(read(x, i), low, high))
        return 0

    body.__name__ = f"clamp_{variant}"
    return kernel(CLAMP)(body)


def clamp_quantized(variant, byte, read):
    """input, output: byte[count], as they are stored. output = min(max(input, low), high)."""

    def body(a, tile):
        x, y, low, high = a.input, a.output, byte(a.low), byte(a.high)
        first, end = part(a.count, tile)
        for i in range(first, end):
            write_b8(y, i, min(max(read(x, i), low), high))
        return 0

    body.__name__ = f"clamp_{variant}"
    return kernel(CLAMP_RAW)(body)


def mapped(name, function, variant):
    """input, output: float[count]. output = function(input)."""
    read, write = READ[variant], WRITE[variant]

    def body(a, tile):
        x, y = a.input, a.output
        first, end = part(a.count, tile)
        for i in range(first, end):
            write(y, i, function(read(x, i)))
        return 0

    body.__name__ = f"{name}_{variant}"
    return kernel(MAP)(body)


for _variant in ("f32", "f16"):
    clamp_float(_variant)
    mapped("tanh", tanh, _variant)
    mapped("logistic", logistic, _variant)

clamp_quantized("qu8", np.uint8, READ["u8"])
clamp_quantized("qs8", np.int8, READ["s8"])


@kernel(LOOKUP)
def lookup_b8(a, tile):
    """input, output: byte[count], table: byte[256]. output = table[input]."""
    x, y, table = a.input, a.output, a.table
    first, end = part(a.count, tile)
    for i in range(first, end):
        write_b8(y, i, u8(table, u8(x, i)))
    return 0
