"""exp in float64 without branches or calls, so that loops of it vectorise."""

from math import factorial

import numpy as np

from nnapi_shim.drivers.cpu.codegen.numeric import bits64_of, clamp, float64_of
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2; the high part has few bits, so that its product with a small integer is exact."""

MAGIC = 1.5 * 2.0**52
"""Adding it to a small number rounds that to an integer, which the sum has in its low bits."""
MAGIC_BITS = int(np.float64(MAGIC).view(np.int64))

EXP_LOW, EXP_HIGH = -746.0, 710.0
"""Beyond these e^x is 0 or infinite."""

SERIES = tuple(1 / factorial(power) for power in range(13, 1, -1))
"""Of e^r - 1 - r: the truncation error is below 1e-17 for |r| <= ln(2) / 2."""


@helper
def exp(x):
    """e^x, within 2 units in the last place; NaN stays NaN.

    The power of 2 is applied in two steps: it may be subnormal or 2^1024.
    """
    x = clamp(x, EXP_LOW, EXP_HIGH)
    shifted = x * LOG2_E + MAGIC
    whole = shifted - MAGIC
    r = (x - whole * LN2_HIGH) - whole * LN2_LOW
    c = SERIES
    tail = ((((c[0] * r + c[1]) * r + c[2]) * r + c[3]) * r + c[4]) * r + c[5]
    tail = (((((tail * r + c[6]) * r + c[7]) * r + c[8]) * r + c[9]) * r + c[10]) * r + c[11]
    excess = tail * r * r + r
    n = bits64_of(shifted) - MAGIC_BITS
    half = n >> 1
    scale = float64_of((half + 1023) << 52)
    return (scale * excess + scale) * float64_of((n - half + 1023) << 52)
