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


def batch_matmul(use: "Use", rng: Random, batch: int) -> Plan:
    """Rank 2 to 4; in front of its matrices rhs has a size of 1 here and there."""
    outer = sizes(rng, batch, 3)[: pick(rng, range(3))]
    rows, depth, columns = (pick(rng, DEPTHS) for _ in range(3))
    if not outer:
        rows = batch
    adj_x, adj_y = (bool(rng.integers(2)) for _ in range(2))
    return {
        "lhs": (*outer, depth, rows) if adj_x else (*outer, rows, depth),
        "rhs": (
            *(1 if rng.random() < 0.2 else size for size in outer),
            *((columns, depth) if adj_y else (depth, columns)),
        ),
        "adj_x": adj_x,
        "adj_y": adj_y,
    }


def batch_matmul_scale(inputs: list[Value], rng: Random) -> float:
    """From the spread of a sum of products."""
    lhs, rhs, adj_x, _ = inputs
    terms = lhs.operand.dimensions[-2 if adj_x.array else -1]
    return lhs.operand.scale * rhs.operand.scale * 90 * sqrt(terms)


PLANS = {"FULLY_CONNECTED": fully_connected, "BATCH_MATMUL": batch_matmul}
AMPLITUDE = dict.fromkeys(PLANS, 1.0)
OUTPUT_SCALE = {"FULLY_CONNECTED": fully_connected_scale, "BATCH_MATMUL": batch_matmul_scale}
