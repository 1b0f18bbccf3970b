"""Predicted times on more processors: how tiles are divided, and what is measured for it."""

import json
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from nnapi_shim import Compilation, FuseCode, Model, NnapiError
from nnapi_shim.drivers.cpu.run.tile_timing import timed_regions
from nnapi_shim.tools import scaling as module
from nnapi_shim.tools.scaling import TAKE_S, scaling
from tests.tools.models import conv_log_softmax, of_unknown_size

US = 1e-6


def wide() -> Model:
    """A product of several tiles, and one of few numbers."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [256, 256])
        w = np.random.default_rng(1).random((256, 256), np.float32)
        y = model.operation("FULLY_CONNECTED", [x, w, np.zeros(256, np.float32), FuseCode.NONE])
        model.outputs(model.operation("REDUCE_MAX", [y, np.array([0, 1], np.int32), False]))
    return model


def counting(turns: int) -> Model:
    """A WHILE that adds 1 until it is `turns`."""
    with Model() as condition:
        x = condition.input("TENSOR_FLOAT32", [1])
        limit = np.array([turns], np.float32)
        condition.outputs(condition.operation("LESS", [x, limit]))
    with Model() as body:
        x = body.input("TENSOR_FLOAT32", [1])
        body.outputs(body.operation("ADD", [x, np.ones(1, np.float32), FuseCode.NONE]))
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1])
        model.outputs(model.operation("WHILE", [condition, body, x]))
    return model


def test_tiles_are_divided_among_all() -> None:
    """Never faster than the work divided by the processors, or than the longest tile; never slower
    than all of it in a row, by more than sharing costs.
    """
    random = Random(7)
    for _ in range(300):
        tiles = [random.uniform(0.2, 20) * US for _ in range(random.randint(2, 200))]
        before = float("inf")
        for cores in (2, 3, 4, 8, 16, 64):
            seconds, takes = module._shared(tiles, cores, 0.0)
            assert seconds >= max(max(tiles), sum(tiles) / cores)
            assert seconds <= sum(tiles) + module.BEGIN_S + len(tiles) * TAKE_S
            assert seconds <= sum(tiles) / cores + max(tiles) * 2 + module.BEGIN_S + (
                len(tiles) * TAKE_S
            )
            assert 0 < takes <= len(tiles)
            assert seconds <= before * 1.5
            before = seconds


def test_equal_tiles() -> None:
    seconds, takes = module._shared([10 * US] * 4, 4, 0.0)
    assert seconds == pytest.approx(10 * US + module.BEGIN_S + TAKE_S)
    assert takes == 1
    assert module._shared([10 * US] * 4, 8, 0.0)[0] == pytest.approx(seconds)
    late, takes = module._shared([10 * US] * 4, 4, 100 * US)  # workers that come too late
    assert (late, takes) == (pytest.approx(40 * US + module.BEGIN_S + 4 * TAKE_S), 4)


def test_slow_processors_leave_the_last_tiles() -> None:
    """With 8 fast ones, 8 of half the speed make no region longer, and shorten those of many
    tiles.
    """
    random = Random(8)
    for _ in range(200):
        tiles = [random.uniform(2, 3) * US for _ in range(random.randint(2, 300))]
        fast, _ = module._shared(tiles, 8, 0.0)
        both, _ = module._shared(tiles, 16, 0.0, slow=8)
        assert both <= fast + 4 * US
        assert both >= sum(tiles) / 12
        if len(tiles) > 64:
            assert both < 0.9 * fast
        if len(tiles) < 16:
            assert both == pytest.approx(fast, rel=0.3)
    seconds, _ = module._shared([10 * US] * 15, 16, 0.0, slow=8)
    assert seconds == pytest.approx(20 * US, rel=0.1)


def test_predictions(tmp_path) -> None:
    result = scaling(wide(), (1, 2, 16), runs=2, warm_up=1)
    one, two, many = result.predictions
    assert (one.cores, one.speedup, one.serial_seconds, one.waiting_seconds) == (1, 1, 0, 0)
    assert one.seconds == pytest.approx(sum(region.seconds for region in result.regions))
    assert one.seconds > two.seconds > many.seconds * 0.99
    assert many.seconds > many.serial_seconds > 0
    assert one.measured_seconds is not None
    assert result.hybrid is not None and result.hybrid.measured_seconds is None
    assert one.seconds > result.hybrid.seconds > many.seconds * 0.99
    assert scaling(wide(), (1,), runs=2, warm_up=1).hybrid is None
    assert many.limit in ("one tile", "sharing", "last tiles", "work")
    product, *_, last = result.regions
    assert product.operations == ("FULLY_CONNECTED (operation 0)",)
    assert product.tiles > 1 == last.tiles
    assert product.longest_seconds < product.seconds
    assert json.loads(json.dumps(result.to_json()))["predictions"][2]["cores"] == 16
    assert all(region.tiles < 16 and region.seconds > 20 * US for region in result.narrow)


@pytest.mark.parametrize(
    ("make", "shape"),
    [(conv_log_softmax, (1, 8, 8, 3)), (of_unknown_size, (5,)), (wide, (256, 256))],
)
@pytest.mark.parametrize("by_tile", [False, True])
def test_results_stay_the_same(make, shape, by_tile) -> None:
    model = make()
    x = np.random.default_rng(2).random(shape, np.float32)
    expected = Compilation(model, "nnapi-cpu").run(x)
    regions = []
    with timed_regions(regions.append, by_tile):
        result = Compilation(model, "nnapi-cpu").run(x)
    assert result.tobytes() == expected.tobytes()
    assert regions
    for region in regions:
        assert len(region.durations_ns) == (region.tiles if by_tile else 1)
    regions.clear()
    Compilation(model, "nnapi-cpu").run(x)
    assert not regions


def test_each_turn_of_a_loop_counts() -> None:
    for by_tile in (False, True):
        regions = []
        with timed_regions(regions.append, by_tile):
            result = Compilation(counting(5), "nnapi-cpu").run(np.zeros(1, np.float32))
        assert result[0] == 5
        operations = [region.steps[0][1] for region in regions if "ADD" in region.steps[0][1]]
        assert operations == ["WHILE (operation 0), body: ADD (operation 0)"] * 5
    result = scaling(counting(5), (1, 4), runs=2, inputs=())
    assert all(first.cores < second.cores for first, second in pairwise(result.predictions))


@pytest.mark.parametrize("cores", [(0,), (65,), (1, -1)])
def test_numbers_of_processors_that_are_none(cores) -> None:
    with pytest.raises(NnapiError, match="each number must be 1 to 64"):
        scaling(conv_log_softmax(), cores)
