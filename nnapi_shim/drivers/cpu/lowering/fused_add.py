"""An ADD behind a matrix product, at the end of its micro-kernel: constants of both, in one block.

What the product gives, within its own bounds, is what the addition is given; so results are those
of one after the other. Integers are computed as `add_guarded` does it, see binary.py and
float_shortcut.py: `own` is the product's, `other` what is added; stored numbers are taken as int8.
"""

from nnapi_shim.drivers.cpu.lowering.fixed_point import ROUNDING
from nnapi_shim.drivers.cpu.lowering.float_shortcut import CLOSE_SUM, middle
from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32, INT64, record
from nnapi_shim.hints import Any

ADDEND = {"addend": ADDRESS, "addend_stride": INT64, "addition": ADDRESS}
"""Fields of a product: where the rows lie that are added, or 0, and the block."""

ADDITION = record(
    low=FLOAT32, high=FLOAT32,
    own_zero=INT64, own_units=FLOAT32, other_zero=INT64, other_units=FLOAT32,
    middle=FLOAT32, bits=INT64,
    is_coarse=INT64, coarse=INT64,
    fine_high=INT64, fine_low=INT64, fine_nudge=INT64, fine_down=INT64,
    mantissa=INT64, **ROUNDING, zero_point=INT64,
)  # fmt: skip
"""low, high: bounds of the sums. is_coarse: whether `own` is input 0 of the addition's SUM.

middle: units where both stored numbers are 0. Of these, within 128, the products are half as large
as those in float_shortcut.py, and so are their errors; that makes room for the error of this
number, an eighth of a unit.
"""


def float_addition(fields: dict[str, Any]) -> bytes:
    """The block for a step of lowering/binary.py that adds floats."""
    block = dict.fromkeys(ADDITION.fields, 0) | {"low": fields["low"], "high": fields["high"]}
    return ADDITION.pack(*block.values())


def quantized_addition(fields: dict[str, Any], own: int, flip: int) -> bytes:
    """The block for one that adds bytes. own: which of its inputs the product's result is; flip:
    what makes these bytes int8.
    """
    units = [fields[name] for name in CLOSE_SUM][:2]
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
    }
    return ADDITION.pack(*block.values())
