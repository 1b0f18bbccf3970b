"""Examples of the reshape family."""

from typing import TYPE_CHECKING

from nnapi_shim.hal.enums import OperandType as T
from tests.operations.plans.common import Plan, Random, pick, sizes, small_sizes
from tests.single import i32, tensor

if TYPE_CHECKING:
    from tests.operations.cases import Use


def reshape(use: "Use", rng: Random, batch: int) -> Plan:
    """The same sizes in another order, one of them perhaps -1."""
    dimensions = sizes(rng, batch, pick(rng, range(1, 5)))
    shape = rng.permutation(dimensions)
    if rng.random() < 0.5:
        shape[pick(rng, range(len(shape)))] = -1
    return {"input": dimensions, "shape": tensor(T.TENSOR_INT32, shape)}


def squeeze(use: "Use", rng: Random, batch: int) -> Plan:
    """Axes omitted, or some of those that have size 1, perhaps from behind."""
    rank = pick(rng, range(1, 5))
    dimensions = (batch, *(1 if rng.random() < 0.5 else 3 for _ in range(rank - 1)))
    ones = [axis for axis, size in enumerate(dimensions) if size == 1]
    if not ones or rng.random() < 0.3:
        return {"input": dimensions, "axes": None}
    axes = rng.choice(ones, pick(rng, range(1, len(ones) + 1)))
    return {"input": dimensions, "axes": i32(axes - rank * rng.integers(0, 2, len(axes)))}


def expand_dims(use: "Use", rng: Random, batch: int) -> Plan:
    """Any rank and axis."""
    dimensions = small_sizes(rng, batch, pick(rng, range(1, 6)))
    rank = len(dimensions) + 1
    return {"input": dimensions, "axis": pick(rng, range(-rank, rank))}


def rank(use: "Use", rng: Random, batch: int) -> Plan:
    """Any rank."""
    return {"input": small_sizes(rng, batch, pick(rng, range(1, 7)))}


def fill(use: "Use", rng: Random, batch: int) -> Plan:
    """A tensor of rank `batch`."""
    value = float(rng.uniform(-8, 8)) if use.variant != "i32" else pick(rng, range(-9, 9))
    return {"dims": i32([pick(rng, (1, 3, 17)) for _ in range(batch)]), "value": value}


PLANS = {
    "RESHAPE": reshape,
    "SQUEEZE": squeeze,
    "EXPAND_DIMS": expand_dims,
    "RANK": rank,
    "FILL": fill,
}
