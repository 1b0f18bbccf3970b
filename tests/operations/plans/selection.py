"""Examples of the selection family."""

from typing import TYPE_CHECKING

from tests.operations.plans.common import Plan, Random, pick, sizes

if TYPE_CHECKING:
    from tests.operations.cases import Use


def select(use: "Use", rng: Random, batch: int) -> Plan:
    """Three tensors of the same dimensions, of any rank."""
    return dict.fromkeys(
        ("condition", "input1", "input2"), sizes(rng, batch, pick(rng, range(1, 6)))
    )


def extreme(use: "Use", rng: Random, batch: int) -> Plan:
    """Any rank and axis."""
    dimensions = sizes(rng, batch, pick(rng, range(1, 6)))
    return {"input": dimensions, "axis": pick(rng, range(-len(dimensions), len(dimensions)))}


def largest(use: "Use", rng: Random, batch: int) -> Plan:
    """Any rank, some or all elements of a row."""
    dimensions = sizes(rng, batch, pick(rng, range(1, 6)))
    return {"input": dimensions, "k": pick(rng, range(1, max(1, dimensions[-1]) + 1))}


PLANS = {"SELECT": select, "ARGMAX": extreme, "ARGMIN": extreme, "TOPK_V2": largest}
