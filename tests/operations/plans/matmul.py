"""Examples of the matmul family."""

from math import prod, sqrt
from typing import TYPE_CHECKING

from tests.operations.plans.common import DEPTHS, SIZES, Plan, Random, activation, pick, sizes
from tests.single import Value

if TYPE_CHECKING:
    from tests.operations.cases import Use


def fully_connected(use: "Use", rng: Random, batch: int) -> Plan:
    """The input has rank 2 to 4 and is flattened to rows."""
    tail = sizes(rng, pick(rng, SIZES), pick(rng, range(1, 4)))
    units = pick(rng, DEPTHS)
    return {
        "input": (batch, *tail),
        "weights": (units, prod(tail)),
        "bias": (units,),
        "activation": activation(use, rng),
    }


def fully_connected_scale(inputs: list[Value], rng: Random) -> float:
    """From the spread of a sum of products."""
    terms = inputs[1].operand.dimensions[1]
    return inputs[0].operand.scale * inputs[1].operand.scale * 90 * sqrt(terms)


PLANS = {"FULLY_CONNECTED": fully_connected}
AMPLITUDE = {"FULLY_CONNECTED": 1.0}
OUTPUT_SCALE = {"FULLY_CONNECTED": fully_connected_scale}
