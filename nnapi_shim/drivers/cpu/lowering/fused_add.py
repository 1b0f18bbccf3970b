"""The constants of an ADD in the epilogue of a matrix product.

The epilogue adds to the clamped results of the product, so the results are those of two separate
steps. Quantized additions are computed like `add_float` (kernels/binary.py), of int8.
"""

from nnapi_shim.drivers.cpu.lowering.quantized_sum import SCALES
from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32, INT64, record
from nnapi_shim.hints import Any

ADDEND = {"addend": ADDRESS, "addend_stride": INT64, "addition": ADDRESS}
"""Fields of a product: the rows of the addend (or 0), their stride, and the ADDITION block."""

ADDITION = record(low=FLOAT32, high=FLOAT32, own=INT64, **SCALES)
"""low, high: bounds of the sums. Of quantized ones, own: the input that the product computes."""


def float_addition(fields: dict[str, Any]) -> bytes:
    """The ADDITION block of a float addition step (lowering/binary.py)."""
    return ADDITION.pack(fields["low"], fields["high"], 0, *[0] * len(SCALES))


def quantized_addition(fields: dict[str, Any], own: int) -> bytes:
    """The ADDITION block of a quantized addition step in float32."""
    low, high = float(fields["lowest"]), float(fields["highest"])
    return ADDITION.pack(low, high, own, *[fields[name] for name in SCALES])
