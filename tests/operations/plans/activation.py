"""Examples of the activation family."""

from typing import TYPE_CHECKING

from tests.operations.plans.binary import pairwise
from tests.operations.plans.common import Plan, Random, elementwise

if TYPE_CHECKING:
    from tests.operations.cases import Use


def elu(use: "Use", rng: Random, batch: int) -> Plan:
    """A negative alpha, too."""
    return {**elementwise(use, rng, batch), "alpha": rng.uniform(-0.5, 2)}


PLANS = {
    **dict.fromkeys(("RELU", "RELU1", "RELU6", "TANH", "LOGISTIC", "HARD_SWISH"), elementwise),
    "ELU": elu,
    "PRELU": pairwise,
}
AMPLITUDE = {"ELU": 4.0}
