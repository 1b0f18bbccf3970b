"""Conversion of real multipliers to fixed point."""

from math import copysign, frexp

from nnapi_shim.drivers.cpu.program.record import FLOAT32_MAX, INT64
from nnapi_shim.hints import Any


def decomposed(multiplier: float) -> tuple[int, int]:
    """(M, e) with multiplier = M * 2^(e - 31) and 2^30 <= |M| < 2^31 (semantics.md 5.2)."""
    fraction, exponent = frexp(multiplier)
    mantissa = int(fraction * 2**31 + copysign(0.5, fraction))
    if abs(mantissa) == 2**31:
        mantissa, exponent = mantissa // 2, exponent + 1
    if exponent < -31:
        return 0, 0
    # A shift by 31 bits saturates every number in any case.
    return mantissa, min(exponent, 31)


ROUNDING = {"nudge": INT64, "away": INT64, "down": INT64}
"""Two roundings of a product combined (see `rounded_twice` in the kernels): nudge is added to the
product, away is added to a negative product, then it is shifted right by down."""

SHORT = {"high": INT64, "low": INT64, "shift": INT64, **ROUNDING}
"""A multiplier of numbers of 16 bits and a sign; see `scaled_short` in the kernels."""

SHORT_BITS = 16
SUM_SHIFT = 20
"""Left shift of quantized numbers before they are scaled and added."""
SUM_BITS = 28
"""Bits of the sums of ADD and of their terms."""


def rounding(exponent: int) -> dict[str, Any]:
    """Values for ROUNDING, of a product shifted by 30 bits; exponent: 0 or below."""
    half = 1 << -exponent if exponent < 0 else 0
    return {"nudge": 1 + half, "away": -2 if exponent < 0 else 0, "down": 1 - exponent}


def halves(mantissa: int) -> tuple[int, int]:
    """(high, low) with mantissa = high * 2^16 + low, both of 16 bits and signed."""
    high = (mantissa + 2**15) >> 16
    return high, mantissa - (high << 16)


def vanishing(mantissa: int, exponent: int, bits: int) -> tuple[int, int]:
    """A multiplier of `bits`-bit numbers, or 0 if all its products are below 1/2."""
    return (0, 0) if exponent < -bits else (mantissa, exponent)


def short_multiplier(multiplier: float) -> dict[str, Any]:
    """Values for SHORT. Results that fit a byte, with the zero point, are exact; others exceed the
    byte on the correct side.
    """
    # NaN arises only from infinite scales and counts as too large.
    largest = multiplier if multiplier < FLOAT32_MAX else FLOAT32_MAX
    mantissa, exponent = vanishing(*decomposed(largest), SHORT_BITS)
    high, low = halves(mantissa)
    # A shift by 13 bits does not overflow and exceeds a byte.
    shift = 14 - min(max(exponent, 0), 13)
    return {"high": high, "low": low, "shift": shift, **rounding(min(exponent, 0))}


def input_radius(exponent: int, integer_bits: int) -> int:
    """The largest distance from the zero point that a 32-bit format with `integer_bits` represents
    (semantics.md 5.7). exponent: of the multiplier, above 0.
    """
    return ((1 << integer_bits) - 1) << (31 - integer_bits) >> exponent
