"""The constants of a quantized ADD or SUB, as of int8.

A sum of two bytes has 65,536 results. `prove_sum` (kernels/binary.py) computes all of them in the
fixed point of the reference and in float32,

    nearest(x * scale0 + (y * scale1 + offset)), halves to even, within bounds

with the multiplications and additions of the tier's kernels. If all are the same, steps compute in
float32. Otherwise `prove_sum` goes on with numbers next to these constants. Where sums are exact
halves, it finds none: the reference rounds halves away from zero.
"""

from struct import unpack_from

from nnapi_shim import address
from nnapi_shim.drivers.cpu.lowering.fixed_point import ROUNDING
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32, INT64, record
from nnapi_shim.hints import Any

ZEROS = {"zero0": INT64, "zero1": INT64}
"""Zero points of the inputs, negated."""
RESULT = {"zero_point": INT64, "lowest": INT64, "highest": INT64}
SCALES = {"scale0": FLOAT32, "scale1": FLOAT32, "offset": FLOAT32}
"""Output steps per step of each input, and the result for inputs of 0."""
CONSTANTS = {
    **ZEROS, **RESULT, **ROUNDING, **SCALES,
    "coarse": INT64, "fine_high": INT64, "fine_low": INT64, "fine_nudge": INT64, "fine_down": INT64,
    "mantissa": INT64,
}  # fmt: skip
"""coarse: multiplier of input 0, which has the larger scale. fine_*: multiplier of input 1, as 64 *
high and low. mantissa, ROUNDING: of the sum."""
LARGEST = 2.0**13
"""Of both scales together: below it, sums are below 2^22, which all processors round alike."""
PROVE_SUM = record(output=ADDRESS, **CONSTANTS)
"""output: int64, whether there are constants; float32[3], the SCALES."""


def proven(constants: dict[str, Any]) -> dict[str, float] | None:
    """SCALES that give the results of the other CONSTANTS; those of `constants` are tried first."""
    if abs(constants["scale0"]) + abs(constants["scale1"]) > LARGEST:
        return None
    memory = bytearray(8 + 4 * len(SCALES))
    output, _keep = address.address_of(memory)
    packed = PROVE_SUM.pack(*PROVE_SUM.values(constants | {"output": output}))
    where, _keep_record = address.address_of(packed)
    library.current().function("prove_sum")(where, 0)
    is_proven, *scales = unpack_from("<q3f", memory)
    return dict(zip(SCALES, scales, strict=True)) if is_proven else None
