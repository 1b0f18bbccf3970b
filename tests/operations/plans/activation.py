"""Examples of the activation family."""

from typing import TYPE_CHECKING

from tests.operations.plans.common import Plan, Random, elementwise

if TYPE_CHECKING:
    from tests.operations.cases import Use


def elu(use: "Use", rng: Random, batch: int) -> Plan:
    """A negative alpha, too."""
    return {**elementwise(use, rng, batch), "alpha": rng.uniform(-0.5, 2)}


PLANS = {"ELU": elu}
AMPLITUDE = {"ELU": 4.0}
