"""ABS EXP FLOOR LOG NEG RSQRT SIN SQRT: computed in float32, rounded once to the stored type."""

from operator import neg

import numpy as np

from nnapi_shim.drivers.cpu.codegen.elements import READ, WRITE, mapped, part
from nnapi_shim.drivers.cpu.codegen.exponential import exp, exp_of
from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.logarithm import log
from nnapi_shim.drivers.cpu.codegen.numeric import bits_of, square_root
from nnapi_shim.drivers.cpu.codegen.simd import F32, elementwise_kernel, mapping
from nnapi_shim.drivers.cpu.codegen.sine import LIMIT, sine, sine_of_any
from nnapi_shim.drivers.cpu.lowering.unary import SINE
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

ONE = np.float32(1)
MAGNITUDE, LIMIT_BITS = np.int32(0x7FFFFFFF), LIMIT.view(np.int32)

BLOCK = 1024
"""Elements that are looked at together: a large one among them slows down all."""


@helper
def reciprocal_root(x):
    """1 / sqrt(x); infinite for 0, NaN below."""
    return ONE / square_root(x)


def reciprocal_root_of(x: F32) -> F32:
    """The same of vectors, from the processor's estimate of 14 bits: one step of Newton's, but not
    from infinity or 0. It takes a third of the time of a root and a division.
    """
    builder = x.builder
    y = F32(builder, ISA.reciprocal_root_estimate(builder, x.value))
    error = (-(x * y)).multiply_add(y, 1.0)
    better = (y * 0.5).multiply_add(error, y)
    is_exact = builder.fcmp_unordered("uno", error.value, error.value)
    return F32(builder, builder.select(is_exact, y.value, better.value))


def sines(variant):
    """input, output: float[count], table: see lowering/unary.py. output = sin(input)."""
    read, write = READ[variant], WRITE[variant]

    @kernel(SINE, f"sin_{variant}")
    def body(a, tile):
        x, y, table = a.input, a.output, a.table
        first, end = part(a.count, a.part, tile)
        for start in range(first, end, BLOCK):
            stop = min(start + BLOCK, end)
            largest = np.int32(0)
            for i in range(start, stop):
                largest = max(largest, bits_of(read(x, i)) & MAGNITUDE)
            if largest <= LIMIT_BITS:
                for i in range(start, stop):
                    write(y, i, sine(read(x, i)))
            else:
                for i in range(start, stop):
                    write(y, i, sine_of_any(read(x, i), table))
        return 0


for _variant in ("f32", "f16"):
    mapped("abs", abs, _variant)
    mapped("floor", np.floor, _variant)
    mapped("log", log, _variant)
    mapped("neg", neg, _variant)
    mapped("sqrt", square_root, _variant)
    sines(_variant)

mapped("rsqrt", reciprocal_root, "f16")
if ISA.has_reciprocal_root:
    elementwise_kernel("rsqrt_f32", mapping(lambda x, _: reciprocal_root_of(x)))
else:
    mapped("rsqrt", reciprocal_root, "f32")
elementwise_kernel("exp_f32", mapping(lambda x, _: exp_of(x)))
mapped("exp", exp, "f16")
mapped("abs", abs, "i32")
mapped("neg", neg, "i32")
