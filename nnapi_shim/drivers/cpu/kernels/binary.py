"""ADD SUB MUL DIV: one walk through two tensors, and a formula per operation and element type.

float: computed in float32, rounded once to the stored type, clamped; NaN stays NaN.
int32: 64-bit integers, of which the lower half stays; division rounds down.
quantized: float32, rounded to the nearest, halves away from zero. Differences and products of
quantized numbers are exact in it.
"""

from operator import add, mul, sub, truediv

import numpy as np

from nnapi_shim.drivers.cpu.kernels.elements import READ, WRITE
from nnapi_shim.drivers.cpu.kernels.kernel import helper, kernel
from nnapi_shim.drivers.cpu.kernels.numeric import add32, bounded, clamp, multiply_add, rounded
from nnapi_shim.drivers.cpu.lowering.binary import FLOAT, LARGE_SUM, PLAIN, PRODUCT, SUM


def binary(name, layout, read, write, size, constants, formula):
    """The kernel output = formula(element of input0, element of input1, constants of the record).

    The layout of the operands is in lowering/binary.py. size: bytes of an element.
    """

    def body(a, tile):
        values = constants(a)
        length, size1, size2 = a.length, a.size1, a.size2
        moves0, moves1 = a.step3_0 != 0, a.step3_1 != 0
        step2_0, step2_1 = a.step2_0 * size, a.step2_1 * size
        parts = (length + a.part - 1) // a.part
        part = tile % parts
        count = min(a.part, length - part * a.part)
        row = tile // parts * a.rows
        rows = min(a.rows, a.size0 * size1 * size2 - row)
        y = a.output + (row * length + part * a.part) * size
        while rows > 0:
            # A run of rows along size2, where both inputs move in equal steps.
            at0, at1, at2 = row // (size1 * size2), row // size2 % size1, row % size2
            run = min(rows, size2 - at2)
            at_0 = at0 * a.step0_0 + at1 * a.step1_0 + at2 * a.step2_0 + part * a.part_step_0
            at_1 = at0 * a.step0_1 + at1 * a.step1_1 + at2 * a.step2_1 + part * a.part_step_1
            x0, x1 = a.input0 + at_0 * size, a.input1 + at_1 * size
            rows, row = rows - run, row + run
            for _ in range(run):
                if moves0 and moves1:
                    for i in range(count):
                        write(y, i, formula(read(x0, i), read(x1, i), values))
                elif moves0:
                    still = read(x1, 0)
                    for i in range(count):
                        write(y, i, formula(read(x0, i), still, values))
                else:
                    still = read(x0, 0)
                    for i in range(count):
                        write(y, i, formula(still, read(x1, i), values))
                x0, x1, y = x0 + step2_0, x1 + step2_1, y + length * size
        return 0

    body.__name__ = name
    return kernel(layout)(body)


def clamped(function):
    """The formula function(x, y), clamped to the bounds; NaN stays NaN."""

    @helper
    def formula(x, y, bounds):
        return clamp(function(x, y), bounds[0], bounds[1])

    return formula


def bare(function):
    """The formula function(x, y)."""

    @helper
    def formula(x, y, nothing):
        return function(x, y)

    return formula


@helper
def divide_rounding_down(x, y):
    """INT32: the quotient in float64, the only vector division there is, lies on the right side of
    every integer, because it is at least 2^-31 of its size away from those that it does not equal.
    0 for y = 0; the quotient that does not fit, 2^31, wraps.
    """
    quotient = np.floor(np.float64(x) / np.float64(y))
    fits = quotient < 2.0**31
    return np.int32(quotient if y != 0 and fits else (0.0 if y == 0 else -(2.0**31)))


@helper
def add_quantized(x, y, values):
    """Steps of the output: x * scale0 + y * scale1 + offset."""
    scale0, scale1, offset, low, high, zero_point = values
    steps = multiply_add(x, scale0, multiply_add(y, scale1, offset))
    return add32(rounded(bounded(steps, low, high)), zero_point)


@helper
def add_large_quantized(x, y, values):
    """As add_quantized, for scales of `LARGE` and above: the large products are exact, so that
    what is left when they cancel each other is exact, too.
    """
    (zero0, coarse0, fine0), (zero1, coarse1, fine1), low, high, zero_point = values
    x, y = x - zero0, y - zero1
    steps = (x * coarse0 + y * coarse1) + (x * fine0 + y * fine1)
    return add32(rounded(bounded(steps, low, high)), zero_point)


@helper
def mul_quantized(x, y, values):
    """Steps of the output: (x - zero0) * (y - zero1) * scale."""
    zero0, zero1, scale, low, high, zero_point = values
    steps = (x - zero0) * (y - zero1) * scale
    return add32(rounded(bounded(steps, low, high)), zero_point)


bounds = helper(lambda a: (a.low, a.high))
nothing = helper(lambda a: 0)
sum_constants = helper(
    lambda a: (a.scale0, a.scale1, a.offset, a.low, a.high, np.int32(a.zero_point))
)
large_sum_constants = helper(
    lambda a: (
        (a.zero0, a.coarse0, a.fine0),
        (a.zero1, a.coarse1, a.fine1),
        a.low,
        a.high,
        np.int32(a.zero_point),
    )
)
product_constants = helper(
    lambda a: (a.zero0, a.zero1, a.scale, a.low, a.high, np.int32(a.zero_point))
)

for _name, _function in {"add": add, "sub": sub, "mul": mul, "div": truediv}.items():
    for _type, _size in (("f32", 4), ("f16", 2)):
        _io = READ[_type], WRITE[_type], _size
        binary(f"{_name}_{_type}", FLOAT, *_io, bounds, clamped(_function))

for _name, _function in {"add": add, "sub": sub, "mul": mul, "div": divide_rounding_down}.items():
    binary(f"{_name}_i32", PLAIN, READ["i32"], WRITE["i32"], 4, nothing, bare(_function))

for _type in ("qu8", "qs8"):
    _io = READ[_type], WRITE["b8"], 1
    binary(f"add_{_type}", SUM, *_io, sum_constants, add_quantized)
    binary(f"add_large_{_type}", LARGE_SUM, *_io, large_sum_constants, add_large_quantized)
    binary(f"mul_{_type}", PRODUCT, *_io, product_constants, mul_quantized)
