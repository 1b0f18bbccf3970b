"""Examples of the normalization family."""

from typing import TYPE_CHECKING

from tests.operations.plans.common import Plan, Random, pick, sizes

if TYPE_CHECKING:
    from tests.operations.cases import Use


def along_an_axis(use: "Use", rng: Random, batch: int) -> Plan:
    """Any rank and axis; without an axis, it is the last."""
    dimensions = sizes(rng, batch, pick(rng, range(1, 5)))
    axis = pick(rng, range(-len(dimensions), len(dimensions)))
    return {"input": dimensions, "axis": axis}


def local_response(use: "Use", rng: Random, batch: int) -> Plan:
    """Windows of all sizes, also larger than the axis."""
    return {
        **along_an_axis(use, rng, batch),
        "radius": pick(rng, (0, 1, 2, 5, 20, 2**31 - 1)),
        "bias": rng.uniform(0.5, 2),
        "alpha": rng.uniform(0, 1),
        "beta": rng.uniform(0.1, 1.5),
    }


def instance(use: "Use", rng: Random, batch: int) -> Plan:
    """Images in both layouts."""
    return {
        "input": sizes(rng, batch, 4),
        "gamma": rng.uniform(-2, 2),
        "beta": rng.uniform(-2, 2),
        "epsilon": rng.uniform(1e-4, 1e-2),
        "nchw": bool(rng.integers(2)),
    }


PLANS = {
    "L2_NORMALIZATION": along_an_axis,
    "LOCAL_RESPONSE_NORMALIZATION": local_response,
    "INSTANCE_NORMALIZATION": instance,
}
