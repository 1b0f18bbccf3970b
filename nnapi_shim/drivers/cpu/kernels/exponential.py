"""exp, expm1, tanh and logistic in float32 without branches or calls: loops of them vectorise.

Errors are below 2 units in the last place (exp, expm1, logistic) and 3 (tanh) with or without fused
multiply-add; a test measures them.
"""

import numpy as np

from nnapi_shim.drivers.cpu.kernels.kernel import helper
from nnapi_shim.drivers.cpu.kernels.numeric import SIGN, bits_of, clamp, float_of, multiply_add

ONE, TWO = np.float32(1), np.float32(2)

LOG2_E = np.float32(1.4426950408889634)
MINUS_LN2_HIGH = np.float32(-0.693359375)
"""355/512: few bits, so that its product with a small integer is exact."""
MINUS_LN2_LOW = np.float32(2.1219444005469058e-4)

MAGIC = np.float32(1.5 * 2**23)
"""Adding it to a small number rounds that to an integer, which the sum has in its low bits."""
MAGIC_BITS = MAGIC.view(np.int32)

C2, C3, C4, C5, C6 = (
    np.float32(c) for c in (0.49999997, 0.16666546, 0.041667435, 0.008366258, 0.0013870645)
)
"""e^r - 1 = r + C2 r^2 + ... + C6 r^6 within 1.4e-8 of its size for |r| <= ln(2) / 2: the minimax
polynomial, each coefficient fitted after the lower ones were rounded."""

EXP_LOW, EXP_HIGH = np.float32(-104), np.float32(89)
"""Beyond these e^x is 0 or infinite in float32."""

EXP_NORMAL = np.float32(-88.3)
"""Where the power of 2 in e^x is 2^-127, which `power_of_2` makes 0."""

TANH_LOW = np.float32(-20)
"""Below -18.1, e^x is too small to change 1 - e^x."""


@helper
def power_of_2(n):
    """2^n for an integer n from -126 to 127; 0 for -127."""
    return float_of((n + 127) << 23)


@helper
def reduced(x):
    """(n, e^r - 1) with x = n ln(2) + r, n an integer and |r| <= ln(2) / 2."""
    shifted = multiply_add(x, LOG2_E, MAGIC)
    whole = shifted - MAGIC
    r = multiply_add(whole, MINUS_LN2_LOW, multiply_add(whole, MINUS_LN2_HIGH, x))
    return bits_of(shifted) - MAGIC_BITS, excess_near_0(r)


@helper
def excess_near_0(r):
    """e^r - 1 for |r| <= ln(2) / 2."""
    tail = multiply_add(multiply_add(multiply_add(multiply_add(C6, r, C5), r, C4), r, C3), r, C2)
    return multiply_add(tail, r * r, r)


@helper
def scaled_power(n, excess):
    """2^n * (1 + excess) for n from -150 to 129. The power of 2 is applied in two steps: it may be
    subnormal or 2^128.
    """
    half = n >> 1
    scale = power_of_2(half)
    return multiply_add(scale, excess, scale) * power_of_2(n - half)


@helper
def exp(x):
    """e^x."""
    n, excess = reduced(clamp(x, EXP_LOW, EXP_HIGH))
    return scaled_power(n, excess)


@helper
def expm1(x):
    """e^x - 1, which keeps its precision around 0. As in scaled_power, the 1 scaled, too."""
    n, excess = reduced(clamp(x, EXP_LOW, EXP_HIGH))
    half = n >> 1
    scale = power_of_2(half)
    return multiply_add(scale, excess, scale - power_of_2(half - n)) * power_of_2(n - half)


@helper
def exp_negative(x):
    """e^x for x <= 0, at less cost: results below the normal float32 numbers (1.2e-38) may be 0."""
    n, excess = reduced(EXP_NORMAL if x < EXP_NORMAL else x)
    scale = power_of_2(n)
    return multiply_add(scale, excess, scale)


@helper
def logistic(x):
    """1 / (1 + e^-x), as e^x / (e^x + 1) for negative x, where the former loses the small end."""
    small = exp_negative(-abs(x))
    return (small if x < 0 else ONE) / (ONE + small)


@helper
def tanh(x):
    """-E / (E + 2) with E = e^(-2 |x|) - 1, which keeps its precision around 0."""
    n, excess = reduced(clamp(-TWO * abs(x), TANH_LOW, TWO))
    scale = power_of_2(n)
    minus_share = multiply_add(scale, excess, scale - ONE)
    magnitude = bits_of(minus_share / (minus_share + TWO)) & ~SIGN
    return float_of(magnitude | (bits_of(x) & SIGN))
