"""Examples of the comparison family."""

from typing import TYPE_CHECKING

from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from tests.operations.plans.binary import pair
from tests.operations.plans.common import Plan, Random, pick
from tests.single import Value, tensor

if TYPE_CHECKING:
    from tests.operations.cases import Use


def comparison(use: "Use", rng: Random, batch: int) -> Plan:
    """Few different numbers, so that many are equal; quantized with the same scale, or not."""
    type = use.inputs[0]
    lowest, _ = QUANTIZED_RANGE.get(type, (-3, 3))
    scale = 0.0
    if type in QUANTIZED_RANGE:
        scale = 0.5
    elif use.variant == "b8":
        lowest = 0

    def contents(dimensions: tuple[int, ...], factor: float, shift: int) -> Value:
        values = rng.integers(lowest, lowest + 7, dimensions)
        return tensor(type, values, scale * factor, lowest + shift if scale else 0)

    shape0, shape1 = pair(rng, batch)
    factor, shift = (1, 2, 0.7)[pick(rng, range(3))], pick(rng, range(4))
    return {"input0": contents(shape0, 1, 2), "input1": contents(shape1, factor, shift)}


PLANS = dict.fromkeys(
    ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"), comparison
)
