"""Examples of the softmax family."""

from typing import TYPE_CHECKING

from tests.operations.plans.common import Plan, Random, pick, sizes

if TYPE_CHECKING:
    from tests.operations.cases import Use


def softmax(use: "Use", rng: Random, batch: int) -> Plan:
    """Any rank and axis."""
    dimensions = sizes(rng, batch, pick(rng, range(1, 5)))
    axis = pick(rng, range(-len(dimensions), len(dimensions)))
    return {"input": dimensions, "axis": axis, "beta": rng.uniform(0.1, 2)}


PLANS = {"SOFTMAX": softmax, "LOG_SOFTMAX": softmax}
CHECKED = {("SOFTMAX", "qu8"): (1 / 256, 0), ("SOFTMAX", "qs8"): (1 / 256, -128)}
