"""Examples of the sampling family."""

from typing import TYPE_CHECKING

from tests.operations.plans.common import SIZES, Plan, Random, pick
from tests.single import i32

if TYPE_CHECKING:
    from tests.operations.cases import Use


def random_multinomial(use: "Use", rng: Random, batch: int) -> Plan:
    """Seeds that are not both 0: those numbers are the same on every device."""
    return {
        "logits": (batch, pick(rng, SIZES)),
        "sample_count": pick(rng, (1, 2, 7, 20)),
        "seeds": i32(rng.integers(-(2**31), 2**31, 2)),
    }


PLANS = {"RANDOM_MULTINOMIAL": random_multinomial}
