"""Examples of the joining family."""

from typing import TYPE_CHECKING

from tests.operations.plans.common import SIZES, Plan, Random, pick, sizes, small_sizes
from tests.single import i32, tensor

if TYPE_CHECKING:
    from tests.operations.cases import Use


def concatenation(use: "Use", rng: Random, batch: int) -> Plan:
    """Equal sizes but for those along the axis."""
    first = sizes(rng, batch, pick(rng, range(1, 5)))
    axis = pick(rng, range(len(first)))
    lengths = [batch if axis == 0 else pick(rng, SIZES) for _ in use.names[:-1]]
    return {"inputs": [(*first[:axis], size, *first[axis + 1 :]) for size in lengths], "axis": axis}


def pack(use: "Use", rng: Random, batch: int) -> Plan:
    """Equal sizes and parameters."""
    dimensions = sizes(rng, batch, pick(rng, range(1, 5)))
    inputs = []
    for type in use.inputs[1:]:
        quantized = use.variant in ("qu8", "qs8")
        values = rng.integers(0, 128, dimensions)
        inputs.append(tensor(type, values, *((0.5, 7) if quantized else ())))
    return {"inputs": inputs, "axis": pick(rng, range(len(dimensions) + 1))}


def tile(use: "Use", rng: Random, batch: int) -> Plan:
    """Any rank; the more dimensions, the smaller multiples."""
    dimensions = small_sizes(rng, batch, pick(rng, range(1, 6)))
    rank = len(dimensions)
    return {"input": dimensions, "multiples": i32(rng.integers(1, 8 - rank, rank))}


PLANS = {"CONCATENATION": concatenation, "PACK": pack, "TILE": tile}
