"""Examples of the joining family."""

from typing import TYPE_CHECKING

from tests.operations.plans.common import SIZES, Plan, Random, pick, sizes

if TYPE_CHECKING:
    from tests.operations.cases import Use


def concatenation(use: "Use", rng: Random, batch: int) -> Plan:
    """Equal sizes but for those along the axis."""
    first = sizes(rng, batch, pick(rng, range(1, 5)))
    axis = pick(rng, range(len(first)))
    lengths = [batch if axis == 0 else pick(rng, SIZES) for _ in use.names[:-1]]
    return {"inputs": [(*first[:axis], size, *first[axis + 1 :]) for size in lengths], "axis": axis}


PLANS = {"CONCATENATION": concatenation}
