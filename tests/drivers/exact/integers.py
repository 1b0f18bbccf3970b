"""The quantized element-wise operations in plain Python integers, number by number.

Written from semantics.md (5.2, 5.3, 5.6, 6, 8), sharing no code with a device. Scales are Python
floats that hold float32 numbers.
"""

import math
from collections.abc import Sequence
from struct import pack, unpack

LARGEST = 3.4028234663852886e38
"""Of all float32; larger multipliers count as this one."""

RANGE = {"qu8": (0, 255), "qs8": (-128, 127)}


def single(value: float) -> float:
    """Rounded to float32; what is too large becomes infinite."""
    try:
        return float(unpack("<f", pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def away(value: float) -> int:
    """The nearest integer, halves away from zero."""
    whole = math.trunc(value)
    return whole + (abs(value - whole) >= 0.5) * (1 if value > 0 else -1)


def wrapped(value: int, bits: int = 32) -> int:
    """The low bits, signed."""
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def saturated(value: int, bits: int = 32) -> int:
    """The nearest number of so many bits."""
    return max(-(1 << bits - 1), min(value, (1 << bits - 1) - 1))


def into(value: int, variant: str) -> int:
    """The nearest number of a quantized type."""
    low, high = RANGE[variant]
    return max(low, min(value, high))


def multiplier(real: float) -> tuple[int, int]:
    """(M, e) of semantics.md 5.2."""
    fraction, exponent = math.frexp(real)
    mantissa = away(fraction * 2**31)
    if mantissa == 2**31:
        mantissa, exponent = 2**30, exponent + 1
    return (0, 0) if exponent < -31 else (mantissa, exponent)


def high(a: int, b: int, bits: int = 32) -> int:
    """SRDHM as 5.3 writes it."""
    product = a * b
    nudge = 1 << bits - 2 if product >= 0 else 1 - (1 << bits - 2)
    quotient = abs(product + nudge) >> bits - 1
    return saturated(quotient if product + nudge >= 0 else -quotient, bits)


def divided(x: int, n: int, bits: int = 32) -> int:
    """RDPOT as 5.3 writes it: the mask is a number of the same type as x."""
    mask = wrapped((1 << n) - 1, bits)
    threshold = (mask >> 1) + (x < 0)
    return (x >> n) + ((x & mask) > threshold)


def scaled(x: int, real: float, sign: int = 1) -> int:
    """MBQM; what is shifted out of 32 bits saturates."""
    mantissa, exponent = multiplier(real)
    return divided(high(saturated(x << max(exponent, 0)), sign * mantissa), max(-exponent, 0))


def clamped(value: int, variant: str, activation: int, scale: float, zero: int) -> int:
    """A fused activation (5.1)."""
    low, high = RANGE[variant]
    bounds = {0: (None, None), 1: (0, None), 2: (-1, 1), 3: (0, 6)}[activation]
    if bounds[0] is not None:
        low = max(low, zero + away(min(max(single(bounds[0] / scale), -1e9), 1e9)))
    if bounds[1] is not None:
        high = min(high, zero + away(min(single(bounds[1] / scale), 1e9)))
    return min(max(value, low), high)


# 5.6, with `bits` of 16 or 32 in all

_STEPS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)


def _constant(value: int, bits: int) -> int:
    return value if bits == 32 else divided(value, 16)


def exponential(x: int, integer_bits: int, bits: int = 32) -> int:
    """e^x for x <= 0 with so many integer bits, without integer bits."""
    one = (1 << bits - 1) - 1
    if x == 0:
        return one
    fraction_bits = bits - 1 - integer_bits
    quarter = 1 << fraction_bits - 2
    a = (x & (quarter - 1)) - quarter
    t = (a << integer_bits) + (1 << bits - 4)
    square = high(t, t, bits)
    cube, fourth = high(square, t, bits), high(square, square, bits)
    third = _constant(715827883, bits)
    start = _constant(1895147668, bits)
    rest = divided(high(divided(fourth, 2, bits) + cube, third, bits) + square, 1, bits)
    result = saturated(start + high(start, t + rest, bits), bits)
    for location, factor in enumerate(_STEPS):
        if location - 2 < integer_bits and (a - x) >> fraction_bits - 2 + location & 1:
            result = high(result, _constant(factor, bits), bits)
    return 0 if integer_bits > 5 and x < -(32 << fraction_bits) else result


def halved_reciprocal(x: int, bits: int = 32) -> int:
    """2 / (1 + x) for x in [0, 1] without integer bits; the result has two."""
    one = (1 << bits - 1) - 1
    total = x + one
    half = (abs(total) + 1) // 2 * (1 if total >= 0 else -1)
    y = _constant(1515870810, bits) + high(half, _constant(-1010580540, bits), bits)
    for _ in range(3):
        error = wrapped((1 << bits - 3) - high(half, y, bits), bits)
        y = wrapped(y + saturated(high(y, error, bits) << 2, bits), bits)
    return y


def reciprocal(x: int) -> int:
    """1 / (1 + x) without integer bits."""
    return saturated(halved_reciprocal(x) << 1)


def logistic(x: int, integer_bits: int, bits: int = 32) -> int:
    """1 / (1 + e^-x) without integer bits."""
    if x == 0:
        return 1 << bits - 2
    inverse = halved_reciprocal(exponential(-abs(x), integer_bits, bits), bits)
    value = saturated(inverse << 1, bits)
    return value if x > 0 else (1 << bits - 1) - 1 - value


def tanh(x: int, integer_bits: int, bits: int = 32) -> int:
    """The hyperbolic tangent, without integer bits."""
    if x == 0:
        return 0
    inverse = halved_reciprocal(exponential(-abs(x), integer_bits + 1, bits), bits)
    value = saturated(wrapped(inverse - (1 << bits - 3), bits) << 2, bits)
    return value if x > 0 else -value


def inverse_root(n: int) -> tuple[int, int]:
    """(M, shift to the right) with 1 / sqrt(n) = M * 2^-31 * 2^-shift."""
    if n <= 1:
        return 2**31 - 1, 0
    shift = 11
    while n >= 2**29:
        n, shift = n // 4, shift + 1
    while n < 2**27:
        n, shift = n * 4, shift - 1
    v = n >> 1
    half = divided(v, 1)
    x = 2**28
    for _ in range(5):
        cube = saturated(high(high(x, x), x) << 3 + 3)
        x = saturated((high(3 << 27, x) - high(half, cube)) << 3)
    mantissa = high(x, 1518500250)
    return (mantissa << -shift, 0) if shift < 0 else (mantissa, shift)


# Operations


def add(
    x: int, y: int, of_x: tuple[float, int], of_y: tuple[float, int], of_z: tuple[float, int],
    variant: str, activation: int = 0, sign: int = 1,
) -> int:  # fmt: skip
    """ADD, or SUB with sign -1; each operand has (scale, zero point)."""
    unit = single(2 * max(of_x[0], of_y[0]))
    left = scaled((x - of_x[1]) << 20, of_x[0] / unit)
    right = scaled((y - of_y[1]) << 20, of_y[0] / unit, sign)
    total = scaled(left + right, unit / single(2**20 * of_z[0])) + of_z[1]
    return clamped(total, variant, activation, *of_z)


def mul(
    x: int, y: int, of_x: tuple[float, int], of_y: tuple[float, int], of_z: tuple[float, int],
    variant: str, activation: int = 0,
) -> int:  # fmt: skip
    """MUL."""
    product = (x - of_x[1]) * (y - of_y[1])
    total = scaled(product, single(of_x[0] * of_y[0]) / of_z[0]) + of_z[1]
    return clamped(total, variant, activation, *of_z)


def prelu(
    x: int, alpha: int, of_x: tuple[float, int], of_alpha: tuple[float, int],
    of_z: tuple[float, int], variant: str,
) -> int:  # fmt: skip
    """PRELU."""
    value = x - of_x[1]
    if value >= 0:
        steps = scaled(value, min(single(of_x[0] / of_z[0]), LARGEST))
    else:
        real = min(single(of_x[0] * of_alpha[0]) / of_z[0], LARGEST)
        steps = scaled(value * (alpha - of_alpha[1]), real)
    return into(of_z[1] + steps, variant)


def squashed(x: int, of_x: tuple[float, int], variant: str, name: str) -> int:
    """LOGISTIC or TANH."""
    low, top = RANGE[variant]
    mantissa, exponent = multiplier(of_x[0] * 2**27)
    radius = 15 * 2**27 >> exponent
    value = x - of_x[1]
    if value <= -radius:
        return low
    if value >= radius:
        return top
    rescaled = high(value << exponent, mantissa)
    if name == "LOGISTIC":
        return into(divided(logistic(rescaled, 4), 23) + low, variant)
    return into(divided(tanh(rescaled, 4), 24) + low + 128, variant)


def hard_swish(x: int, of_x: tuple[float, int], of_z: tuple[float, int], variant: str) -> int:
    """HARD_SWISH."""
    fine = single(of_x[0] / 128)
    out, out_exponent = multiplier(single(fine / of_z[0]))
    relu, relu_exponent = multiplier(min(single(fine / single(3 / 32768)), LARGEST))
    out, relu = (min((m + 2**15) >> 16, 32767) for m in (out, relu))
    value = (x - of_x[1]) * 128
    product = high(value, out, 16)
    if relu_exponent > 0:
        value = saturated(value << relu_exponent - 1, 16)
    value = high(value, relu, 16)
    if relu_exponent > 0:
        value = saturated(value << 1, 16)
    if relu_exponent < 0:
        value = divided(value, -relu_exponent, 16)
    value = (value + 32768) >> 1
    result = abs(value * product) >> 15
    result = result if product * value >= 0 else -result
    return into(wrapped(divided(result, -out_exponent, 16) + of_z[1], 16), variant)


def softmax(row: Sequence[int], scale: float, beta: float, variant: str) -> list[int]:
    """SOFTMAX of the numbers along the axis."""
    low, _ = RANGE[variant]
    mantissa, exponent = multiplier(min(beta * scale * 2**26, 2.0**31 - 1))
    radius = 31 * 2**26 >> exponent
    most = max(row)
    powers = [
        exponential(high((q - most) << exponent, mantissa), 5) if q - most >= -radius else None
        for q in row
    ]
    total = sum(divided(power, 12) for power in powers if power is not None) % 2**32
    headroom = 32 - total.bit_length()
    share = reciprocal(wrapped((total << headroom) - 2**31))
    shift = 12 - headroom + 23
    result = []
    for power in powers:
        product = 0 if power is None else high(share, power)
        # Sums of 512 and more leave less than half a step; 32 bits cannot be shifted so far.
        steps = divided(product, shift) if shift < 32 else 0
        result.append(into(steps + low, variant))
    return result


def l2_normalization(row: Sequence[int], zero: int, variant: str, is_last: bool) -> list[int]:
    """L2_NORMALIZATION of the numbers along the axis, which may be the last one.

    The reference multiplies signed numbers by 128 together with the inverse root where the axis is
    the last one (its own bytes show it), all others before that.
    """
    low, _ = RANGE[variant]
    mantissa, shift = inverse_root(wrapped(sum((q - zero) ** 2 for q in row)))
    late = variant == "qs8" and is_last
    before, after = (max(7 - shift, 0), max(shift - 7, 0)) if late else (7, shift)
    steps = [divided(high((q - zero) << before, mantissa), after) for q in row]
    return [into(value + low + 128, variant) for value in steps]


def reciprocal_root(x: int, of_x: tuple[float, int], of_z: tuple[float, int], variant: str) -> int:
    """RSQRT, in float32."""
    value = single((x - of_x[1]) * of_x[0])
    if value <= 0:
        return RANGE[variant][1]
    steps = single(single(1 / single(math.sqrt(value))) / of_z[0])
    return into(of_z[1] + away(min(steps, 1e9)), variant)
