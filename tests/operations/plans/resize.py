"""Examples of the resize family."""

from typing import TYPE_CHECKING

from tests.operations.plans.common import DEPTHS, Plan, Random, pick

if TYPE_CHECKING:
    from tests.operations.cases import Use

SIDES = tuple(range(1, 9))
NEW_SIDES = tuple(range(1, 13))


def resized(use: "Use", rng: Random, batch: int) -> Plan:
    """Both sizes larger, smaller or the same; at most one of the flags that exclude each other."""
    depth = pick(rng, DEPTHS)
    height, width = (pick(rng, SIDES) for _ in range(2))
    nchw = "nchw" in use.names and bool(rng.integers(2))
    flag = pick(rng, range(3))
    return {
        "input": (batch, depth, height, width) if nchw else (batch, height, width, depth),
        "output_width": pick(rng, NEW_SIDES),
        "output_height": pick(rng, NEW_SIDES),
        "width_scale": rng.uniform(1.01, 12) / width,
        "height_scale": rng.uniform(1.01, 12) / height,
        "nchw": nchw,
        "align_corners": flag == 1,
        "half_pixel_centers": flag == 2,
    }


PLANS = dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), resized)
