"""Quantized results of element-wise operations from float32, where it tells them.

A result in fixed point is rounded down from a number of output steps, 1/2 included, that is within
reach of float32 but for what lies next to an integer. Kernels compute it in units of 2^-bits of a
step, plus half a unit, and round to the nearest unit. Off by less than a unit, all of it in:

    at or above an integer, the rounded number is not below it;
    below an integer, it may be that integer or one unit behind it, but no more.

So only results of 0 or 1 units behind an integer (`WINDOW`) may be wrong: their block is computed
once more, in integers. Of random results one in 2^(bits - 1) is looked at again.
"""

from nnapi_shim.drivers.cpu.program.record import FLOAT32, INT64
from nnapi_shim.hints import Any

WINDOW = 2
"""Units behind an integer that are looked at again: a power of 2."""

SUM_BITS = {2: 13, 4: 12, 8: 11}
"""Sum of the scales of the inputs of ADD, by that of the output, at most -> bits.

Largest errors in units, with 255 * 2^bits * sum below 2^22, and all sums below 2^23:

    1/4    both scales, each within 2^-24 of itself: 255 * 2^bits * sum * 2^-24
    1/4    both products, likewise; 0 where multiplying and adding is one instruction
    1/4    the sum of one product and the middle, half of the last bit below 2^23
    1/4    the sum of both, likewise; 1/8 below 2^22, beyond which results are out of range
    1/28   what the fixed point rounds: within 1.1 in sums of which a unit has more than 2^5
    1/32   what it adds or takes off for the sign, up to one in such a sum
"""

CLOSE_SUM = {"close0": FLOAT32, "close1": FLOAT32, "middle": FLOAT32, "bits": INT64}
"""Units per step of each input, and of the result for a sum of 0."""


def middle(zero_point: int, bits: int) -> float:
    """Units of the result of 0, exact in float32."""
    return (zero_point + 0.5) * 2.0**bits + 0.5


def close_sum(coarse: float, fine: float, zero_point: int) -> dict[str, Any] | None:
    """Values for CLOSE_SUM; None where float32 does not tell enough. coarse, fine: steps of the
    output that a step of each input is worth, negative if it is subtracted.
    """
    for most, bits in SUM_BITS.items():
        if abs(coarse) + abs(fine) <= most:
            values = coarse * 2.0**bits, fine * 2.0**bits, middle(zero_point, bits), bits
            return dict(zip(CLOSE_SUM, values, strict=True))
    return None
