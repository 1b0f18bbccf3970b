"""log and power in float32 without branches or calls, so that loops of them vectorise.

Errors are below 2 units in the last place with or without fused multiply-add; a test measures
them.
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.exponential import excess_near_0, scaled_power
from nnapi_shim.drivers.cpu.codegen.numeric import (
    SIGN,
    add32,
    bits_of,
    clamp,
    float_of,
    multiply_add,
)
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, inlined

ZERO, HALF, ONE = np.float32(0), np.float32(0.5), np.float32(1)
INFINITY, NAN = np.float32(np.inf), np.float32(np.nan)

SMALLEST_NORMAL, TWO_24 = np.float32(2.0**-126), np.float32(2.0**24)
ROOT_BITS = np.float32(np.sqrt(0.5)).view(np.int32)
MINUS_ROOT_BITS = np.int32(-ROOT_BITS)

LN2_HIGH = np.float32(0.693359375)
"""355/512: few bits, so that its product with a small integer is exact."""
LN2_LOW = np.float32(-2.1219444005469058e-4)

C3, C4, C5, C6, C7, C8, C9, C10 = (
    np.float32(c)
    for c in (
        0.3333333, -0.25000823, 0.2000125, -0.16623315,
        0.14201273, -0.1316019, 0.12764764, -0.07638189,
    )
)  # fmt: skip
"""log(1 + r) = r - r^2 / 2 + C3 r^3 + ... + C10 r^10 within 6e-9 of its size for 1 + r from
sqrt(1/2) to sqrt(2); fitted like the polynomial in exponential.py.
"""

D1, D3, D5, D7, D9 = (
    2.8853900817901166, 0.9617966733015253, 0.5770835930574651, 0.4116722092319536,
    0.3407399657669601,
)  # fmt: skip
"""log2((1 + s) / (1 - s)) = D1 s + D3 s^3 + ... + D9 s^9 within 4.3e-12 of its size on the same
interval, in float64.
"""

LN2 = 0.6931471805599453
LOWEST, HIGHEST = -151.0, 129.0
"""Beyond these 2^p is 0 or infinite in float32."""


@helper
def split(x):
    """(e, m) with x = 2^e * m and m from sqrt(1/2) to sqrt(2), for positive finite x."""
    is_subnormal = x < SMALLEST_NORMAL
    above = add32(bits_of(x * TWO_24 if is_subnormal else x), MINUS_ROOT_BITS)
    exponent = np.int32((above >> 23) - (24 if is_subnormal else 0))
    return exponent, float_of((above & 0x7FFFFF) + ROOT_BITS)


@inlined
def log(x):
    """The natural logarithm; -infinity for 0, NaN below."""
    exponent, mantissa = split(x)
    whole, r = np.float32(exponent), mantissa - ONE
    tail = multiply_add(multiply_add(multiply_add(C10, r, C9), r, C8), r, C7)
    tail = multiply_add(multiply_add(multiply_add(multiply_add(tail, r, C6), r, C5), r, C4), r, C3)
    square = r * r
    rest = multiply_add(whole, LN2_LOW, tail * r * square)
    value = multiply_add(whole, LN2_HIGH, r + multiply_add(-HALF, square, rest))
    value = value if x < INFINITY else x
    below = -INFINITY if x == ZERO else NAN
    return below if x <= ZERO else value


@inlined
def power(x, y):
    """x^y as C's pow has it, by 2^(y * log2(|x|)) in float64, whose product has digits to spare."""
    magnitude = abs(x)
    exponent, mantissa = split(magnitude)
    s = (np.float64(mantissa) - 1.0) / (np.float64(mantissa) + 1.0)
    square = s * s
    tail = (((D9 * square + D7) * square + D5) * square + D3) * square + D1
    logarithm = np.float64(exponent) + s * tail
    logarithm = logarithm if magnitude < INFINITY else np.float64(INFINITY)
    logarithm = logarithm if magnitude > ZERO else -np.float64(INFINITY)
    product = np.float64(y) * logarithm
    product = 0.0 if (y == ZERO) | (magnitude == ONE) else product
    product = clamp(product, LOWEST, HIGHEST)
    whole = np.floor(product + 0.5)
    result = scaled_power(np.int32(whole), excess_near_0(np.float32((product - whole) * LN2)))
    # A negative x: odd integers keep its sign, other integers do not, the rest has no result.
    half = y * HALF
    is_integer = np.floor(y) == y
    is_odd = is_integer & (np.floor(half) != half)
    result = float_of(bits_of(result) | (bits_of(x) & SIGN)) if is_odd else result
    result = NAN if (x < ZERO) & (x > -INFINITY) & (not is_integer) else result
    is_nan = (x != x) | (y != y)
    return NAN if is_nan & (y != ZERO) & (x != ONE) else result
