"""Examples of the conversion family."""

from tests.operations.plans.common import elementwise

PLANS = dict.fromkeys(("QUANTIZE", "DEQUANTIZE", "CAST"), elementwise)
