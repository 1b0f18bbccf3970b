"""Real multipliers as the fixed-point numbers that kernels multiply by."""

from math import frexp


def decomposed(multiplier: float) -> tuple[int, int]:
    """(M, e) with multiplier = M * 2^(e - 31) and 2^30 <= M < 2^31 (semantics.md 5.2)."""
    fraction, exponent = frexp(multiplier)
    mantissa = int(fraction * 2**31 + 0.5)
    if mantissa == 2**31:
        mantissa, exponent = 2**30, exponent + 1
    if exponent < -31:
        return 0, 0
    # A number shifted by 31 bits is at the end of its range in any case.
    return mantissa, min(exponent, 31)
