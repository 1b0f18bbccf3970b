"""exp, expm1, tanh and logistic in float32 without branches or calls.

Formulas of numbers (`F32`) that may be vectors; the functions of kernels at the end take single
ones. Errors are below 2 units in the last place (exp, expm1, logistic) and 3 (tanh) with or without
fused multiply-add; a test measures them.
"""

from typing import Any

import numpy as np
from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.simd import F32, I32, scalar_function

LOG2_E = 1.4426950408889634
MINUS_LN2_HIGH = -0.693359375
"""355/512: few bits, so that its product with a small integer is exact."""
MINUS_LN2_LOW = 2.1219444005469058e-4

MAGIC = np.float32(1.5 * 2**23)
"""Adding it to a small number rounds that to an integer, which the sum has in its low bits."""
MAGIC_BITS = int(MAGIC.view(np.int32))

SIGN = -(2**31)

C2, C3, C4, C5, C6 = 0.49999997, 0.16666546, 0.041667435, 0.008366258, 0.0013870645
"""e^r - 1 = r + C2 r^2 + ... + C6 r^6 within 1.4e-8 of its size for |r| <= ln(2) / 2: the minimax
polynomial, each coefficient fitted after the lower ones were rounded."""

EXP_LOW, EXP_HIGH = -104.0, 89.0
"""Beyond these e^x is 0 or infinite in float32."""

EXP_NORMAL = -88.3
"""Where the power of 2 in e^x is 2^-127, which `power_of_2_of` makes 0."""

VANISHING, INFINITE = -200.0, 100.0
"""The same where an instruction scales: 2^n is 0 and infinite at once, without subnormal numbers,
which are slow on some processors."""

TANH_LOW = -20.0
"""Below -18.1, e^x is too small to change 1 - e^x."""


def power_of_2_of(n: I32) -> F32:
    """2^n for an integer n from -126 to 127; 0 for -127."""
    return ((n + 127) << 23).as_f32()


def reduced(x: F32) -> tuple[I32, F32]:
    """(n, e^r - 1) with x = n ln(2) + r, n an integer and |r| <= ln(2) / 2."""
    shifted = x.multiply_add(LOG2_E, float(MAGIC))
    rounded = shifted - float(MAGIC)
    r = rounded.multiply_add(MINUS_LN2_LOW, rounded.multiply_add(MINUS_LN2_HIGH, x))
    return shifted.bits() - MAGIC_BITS, excess_of(r)


def exp_by_scaling(x: F32) -> F32:
    """e^x for x from VANISHING to INFINITE, where an instruction scales."""
    n, r = reduced_by_scaling(x)
    return polynomial(r, C6, C5, C4, C3, C2, 1.0, 1.0).scaled(n)


def polynomial(r: F32, *coefficients: float) -> F32:
    """Horner's scheme; the coefficient of the highest power comes first."""
    highest, following, *others = coefficients
    total = r.multiply_add(highest, following)
    for coefficient in others:
        total = total.multiply_add(r, coefficient)
    return total


def reduced_by_scaling(x: F32) -> tuple[F32, F32]:
    """(n, r) of `reduced`, without e^r - 1."""
    n = (x * LOG2_E).nearest()
    return n, n.multiply_add(MINUS_LN2_LOW, n.multiply_add(MINUS_LN2_HIGH, x))


def excess_of(r: F32) -> F32:
    """e^r - 1 for |r| <= ln(2) / 2."""
    tail = polynomial(r, C6, C5, C4, C3, C2)
    return tail.multiply_add(r * r, r)


def scaled(n: I32, excess: F32) -> F32:
    """2^n * (1 + excess) for n from -150 to 129. The power of 2 is applied in two steps: it may be
    subnormal or 2^128.
    """
    half = n >> 1
    scale = power_of_2_of(half)
    return scale.multiply_add(excess, scale) * power_of_2_of(n - half)


def exp_of(x: F32) -> F32:
    """e^x."""
    if x.can_scale:
        return exp_by_scaling(x.clamped(VANISHING, INFINITE))
    return scaled(*reduced(x.clamped(EXP_LOW, EXP_HIGH)))


def expm1_of(x: F32) -> F32:
    """e^x - 1, which keeps its precision around 0. As in `scaled`, the 1 scaled, too."""
    n, excess = reduced(x.clamped(EXP_LOW, EXP_HIGH))
    half = n >> 1
    scale = power_of_2_of(half)
    one = power_of_2_of(half - n)
    return scale.multiply_add(excess, scale - one) * power_of_2_of(n - half)


def exp_negative_of(x: F32) -> F32:
    """e^x for x <= 0, at less cost: results below the normal float32 numbers (1.2e-38) may be 0."""
    if x.can_scale:
        return exp_by_scaling(x.select_below(VANISHING, VANISHING, x))
    n, excess = reduced(x.select_below(EXP_NORMAL, EXP_NORMAL, x))
    scale = power_of_2_of(n)
    return scale.multiply_add(excess, scale)


def logistic_of(x: F32) -> F32:
    """1 / (1 + e^-x), as e^x / (e^x + 1) for negative x, where the former loses the small end."""
    small = exp_negative_of((x.bits() | SIGN).as_f32())
    return x.select_below(0.0, small, 1.0) / (small + 1.0)


def tanh_of(x: F32) -> F32:
    """-E / (E + 2) with E = e^(-2 |x|) - 1, which keeps its precision around 0."""
    twice = (x.bits() | SIGN).as_f32() * 2.0
    twice = twice.select_below(TANH_LOW, TANH_LOW, twice)
    if x.can_scale:
        n, r = reduced_by_scaling(twice)
        scale, excess = x.like(1.0).scaled(n), excess_of(r)
    else:
        rounded, excess = reduced(twice)
        scale = power_of_2_of(rounded)
    minus_share = scale.multiply_add(excess, scale - 1.0)
    magnitude = (minus_share / (minus_share + 2.0)).bits() & ~SIGN
    return (magnitude | (x.bits() & SIGN)).as_f32()


exp, expm1, exp_negative = map(scalar_function, (exp_of, expm1_of, exp_negative_of))
logistic, tanh, excess_near_0 = map(scalar_function, (logistic_of, tanh_of, excess_of))


@emits(types.float32(types.int32, types.float32))
def scaled_power(builder: Any, n: Any, excess: Any) -> Any:
    """`scaled` as a function of kernels."""
    return scaled(I32(builder, n), F32(builder, excess)).value
