"""Boxes do not overlap, edges lead from each to those behind it."""

import random

import pytest

from nnapi_shim import NnapiError
from nnapi_shim.pictures.layout import layered


def overlap(one, other):
    (x, y, w, h), (a, b, c, d) = one, other
    return x < a + c and a < x + w and y < b + d and b < y + h


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs(seed) -> None:
    rng = random.Random(seed)
    count = rng.randrange(1, 40)
    sizes = [(rng.uniform(20, 200), rng.uniform(10, 90)) for _ in range(count)]
    edges = {
        (rng.randrange(max(0, b - 9), b), b)
        for b in range(1, count)
        for _ in range(rng.randrange(3))
    }
    result = layered(sizes, sorted(edges), 1, rng.choice([200.0, 1e9]))
    boxes = [(*corner, *size) for corner, size in zip(result.corners, sizes, strict=True)]
    for at, box in enumerate(boxes):
        assert not any(overlap(box, other) for other in boxes[:at])
        assert box[0] > -1e-6
        assert box[0] + box[2] <= result.width + 1e-6
        assert box[1] + box[3] <= result.height + 1e-6
    assert sum(route.ends for route in result.routes) == len(edges)


def test_edges_pass_beside_boxes() -> None:
    """An edge past three boxes crosses none of them."""
    result = layered([(100.0, 30.0)] * 5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], 0, 1e9)
    middles = [
        (points[0][0], (points[0][1] + points[1][1]) / 2)
        for points in (route.points for route in result.routes)
        if points[0][0] == points[1][0]
    ]
    assert len(middles) >= 3 + 3  # between the boxes, and beside those that are passed
    for x, y in middles:
        for left, top in result.corners:
            assert not (left < x < left + 100 and top < y < top + 30)


def test_graphs_that_are_too_large() -> None:
    count = 3000
    edges = [(a, a + 1) for a in range(count - 1)] + [(a, count - 1) for a in range(count - 2)]
    with pytest.raises(NnapiError, match="too large"):
        layered([(10.0, 10.0)] * count, edges, 0, 1000.0)
