"""The constants of an ADD in the epilogue of a matrix product.

The epilogue adds to the clamped results of the product, so the results are those of two separate
steps. Quantized additions are computed like `add_guarded` (binary.py, float_shortcut.py). `own` is
the product's result, `other` the addend; stored values are int8.
"""

from nnapi_shim.drivers.cpu.lowering.fixed_point import ROUNDING
from nnapi_shim.drivers.cpu.lowering.float_shortcut import CLOSE_SUM, middle
from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32, INT64, record
from nnapi_shim.hints import Any

ADDEND = {"addend": ADDRESS, "addend_stride": INT64, "addition": ADDRESS}
"""Fields of a product: the rows of the addend (or 0), their stride, and the ADDITION block."""

ADDITION = record(
    low=FLOAT32, high=FLOAT32,
    own_zero=INT64, own_units=FLOAT32, other_zero=INT64, other_units=FLOAT32,
    middle=FLOAT32, bits=INT64,
    is_coarse=INT64, coarse=INT64,
    fine_high=INT64, fine_low=INT64, fine_nudge=INT64, fine_down=INT64,
    mantissa=INT64, **ROUNDING, zero_point=INT64,
    fine_mantissa=INT64, fine_exponent=INT64, exponent=INT64,
)  # fmt: skip
"""low, high: bounds of the sums. is_coarse: whether `own` is input 0 of the addition's SUM.

mantissa, exponent: multipliers of the sum, and of input 1 of the SUM, as in semantics.md 5.2, for
instructions that round as the reference. The exponents are below 0.

middle: the result in units where both stored values are 0. Stored int8 are within 128, so the
products and their errors are half of those in float_shortcut.py, which leaves room for the error of
`middle`, 1/8 of a unit.
"""


def float_addition(fields: dict[str, Any]) -> bytes:
    """The ADDITION block of a float addition step (lowering/binary.py)."""
    block = dict.fromkeys(ADDITION.fields, 0) | {"low": fields["low"], "high": fields["high"]}
    return ADDITION.pack(*block.values())


def quantized_addition(fields: dict[str, Any], own: int, flip: int) -> bytes:
    """The ADDITION block of a quantized addition step. own: its input that the product computes.
    flip: XOR mask that converts its bytes to int8.
    """
    units = [fields[name] for name in CLOSE_SUM][:2]
    fine_mantissa, fine_exponent = _fine_multiplier(fields)
    zeros = [fields["zero0"] + flip, fields["zero1"] + flip]
    block = {name: fields.get(name, 0) for name in ADDITION.fields} | {
        "low": float(fields["lowest"] - flip),
        "high": float(fields["highest"] - flip),
        "own_zero": zeros[own],
        "own_units": units[own],
        "other_zero": zeros[1 - own],
        "other_units": units[1 - own],
        "middle": middle(fields["zero_point"] - flip, fields["bits"])
        + sum(zero * unit for zero, unit in zip(zeros, units, strict=True)),
        "is_coarse": int(own == 0),
        "zero_point": fields["zero_point"] - flip,
        "fine_mantissa": fine_mantissa,
        "fine_exponent": fine_exponent,
        "exponent": 1 - fields["down"],
    }
    return ADDITION.pack(*block.values())


def _fine_multiplier(fields: dict[str, Any]) -> tuple[int, int]:
    """(mantissa, exponent) of input 1 of a quantized addition step, which are 1/2 at most.

    1/2 is (2^31 - 1) * 2^(-1 - 31): of numbers of 9 bits, shifted by SUM_SHIFT, SRDHM makes the
    same as with a multiplier of 1.
    """
    mantissa = (fields["fine_high"] // 64 << 16) + fields["fine_low"]
    exponent = 1 - fields["fine_down"]
    if abs(mantissa) == 2**31:
        mantissa, exponent = mantissa // 2, exponent + 1
    if exponent == 0 and mantissa:
        mantissa, exponent = (2**31 - 1 if mantissa > 0 else 1 - 2**31), -1
    return mantissa, exponent
