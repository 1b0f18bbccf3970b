"""Examples of the unary family."""

from typing import TYPE_CHECKING

from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from tests.operations.plans.common import Plan, Random, elementwise, pick
from tests.single import Value, tensor

if TYPE_CHECKING:
    from tests.operations.cases import Use


def mostly_positive(use: "Use", rng: Random, batch: int) -> Plan:
    """Numbers of many sizes, some of them below 0, where there is no result."""
    plan = elementwise(use, rng, batch)
    if use.inputs[0] not in QUANTIZED_RANGE:
        values = 2.0 ** rng.uniform(-9, 9, plan["input"]) - 2.0**-8
        plan["input"] = tensor(use.inputs[0], values)
    return plan


def angles(use: "Use", rng: Random, batch: int) -> Plan:
    """Also large ones."""
    plan = elementwise(use, rng, batch)
    values = rng.uniform(-8, 8, plan["input"]) * 8.0 ** pick(rng, range(5))
    return {"input": tensor(use.inputs[0], values)}


def root_scale(inputs: list[Value], rng: Random) -> float:
    """A part of the largest root: that of one step of the input; 0 of numbers without steps."""
    step = inputs[0].operand.scale
    return float(step**-0.5 / rng.uniform(10, 200)) if step else 0.0


PLANS = {
    **dict.fromkeys(("LOG", "RSQRT", "SQRT"), mostly_positive),
    "SIN": angles,
}
OUTPUT_SCALE = {"RSQRT": root_scale}
