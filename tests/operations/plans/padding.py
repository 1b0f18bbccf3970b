"""Examples of the padding family."""

from typing import TYPE_CHECKING

from tests.operations.plans.common import Plan, Random, pick, small_sizes
from tests.single import i32

if TYPE_CHECKING:
    from tests.operations.cases import Use


def pad(use: "Use", rng: Random, batch: int) -> Plan:
    """Up to three elements at either end of half of the axes."""
    dimensions = small_sizes(rng, batch, pick(rng, range(1, 5)))
    pairs = rng.integers(0, 4, (len(dimensions), 2)) * rng.integers(0, 2, (len(dimensions), 1))
    value = float(rng.uniform(-8, 8)) if use.variant in ("f32", "f16") else pick(rng, range(-9, 9))
    return {"input": dimensions, "paddings": i32(pairs), "pad_value": value}


def mirror_pad(use: "Use", rng: Random, batch: int) -> Plan:
    """Any rank; as much at either end as there is, or less."""
    dimensions = small_sizes(rng, batch, pick(rng, range(1, 6)))
    mode = pick(rng, (0, 1))
    pairs = [rng.integers(0, min(max(1, size + mode), 5), 2) for size in dimensions]
    return {"input": dimensions, "paddings": i32(pairs), "mode": mode}


PLANS = {"PAD": pad, "PAD_V2": pad, "MIRROR_PAD": mirror_pad}
