"""Quantized results of element-wise operations computed in float32, with an integer fallback.

A fixed-point result is floor(x), where x is the real result in output steps plus 1/2. float32 is
precise enough unless x is close to an integer. Kernels compute x in units of 2^-bits of a step,
plus half a unit, and round to the nearest unit. The total error is below one unit, so:

    if x is at or above an integer, the rounded number is not below it;
    if x is below an integer, the rounded number exceeds that integer by at most one unit.

So only results of 0 or 1 units above an integer (`WINDOW`) may be wrong: the kernel recomputes
their block in integers. Of random results, 1 in 2^(bits - 1) is recomputed.
"""

from nnapi_shim.drivers.cpu.program.record import FLOAT32, INT64
from nnapi_shim.hints import Any

WINDOW = 2
"""Units above an integer that are recomputed: a power of 2."""

SUM_BITS = {2: 13, 4: 12, 8: 11}
"""The largest (input0.scale + input1.scale) / output.scale of ADD -> bits.

Largest errors in units, with 255 * 2^bits * sum below 2^22, and all sums below 2^23:

    1/4    both scales, each within 2^-24 of itself: 255 * 2^bits * sum * 2^-24
    1/4    both products, likewise; 0 where multiplying and adding is one instruction
    1/4    the sum of one product and the middle, half an ulp below 2^23
    1/4    the sum of both, likewise; 1/8 below 2^22, beyond which results are out of range
    1/28   roundings of the fixed point: within 1.1 in sums where a unit exceeds 2^5
    1/32   its correction for the sign, up to one in such a sum
"""

CLOSE_SUM = {"close0": FLOAT32, "close1": FLOAT32, "middle": FLOAT32, "bits": INT64}
"""Units per step of each input, and of the result for a sum of 0."""


def middle(zero_point: int, bits: int) -> float:
    """The result for a sum of 0 in units, exact in float32."""
    return (zero_point + 0.5) * 2.0**bits + 0.5


def close_sum(coarse: float, fine: float, zero_point: int) -> dict[str, Any] | None:
    """Values for CLOSE_SUM; None if float32 is not precise enough. coarse, fine: output steps per
    step of each input, negative for subtraction.
    """
    for most, bits in SUM_BITS.items():
        if abs(coarse) + abs(fine) <= most:
            values = coarse * 2.0**bits, fine * 2.0**bits, middle(zero_point, bits), bits
            return dict(zip(CLOSE_SUM, values, strict=True))
    return None
