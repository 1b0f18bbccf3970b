"""Steps have tiles for many threads, and their results stay the same bits."""

from typing import Any

import numpy as np
import pytest

import nnapi_shim
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.lowering import depthwise_tiles
from nnapi_shim.drivers.cpu.lowering.depthwise_tiles import DepthwiseWork, divided, fastest
from nnapi_shim.drivers.cpu.lowering.tiling import FEW_THREADS, MAX_TILES, tile_of
from nnapi_shim.drivers.cpu.run.tile_timing import timed_regions
from nnapi_shim.hal.enums import OperationType
from tests import single
from tests.drivers.cpu.single import Single
from tests.drivers.cpu.test_convolution import VARIANTS, Shape, random_operands

MANY = (3, 5, 16, 64)


def random_lines(random: Any) -> DepthwiseWork:
    """The work of a depthwise convolution: of one row, of images, and of batches of them."""
    rows, width = int(random.choice([1, 3, 7, 14, 28, 150])), int(random.integers(1, 60))
    channels, taps = int(random.integers(1, 1200)), int(random.choice([9, 25]))
    units, together = -(-channels // 16), int(random.choice([1, 1, 2, rows]))
    call = float(random.choice([0, 0.5]))
    return DepthwiseWork(rows, width * channels * taps, units, together, call)


def test_slabs_cover_the_channels_and_help(monkeypatch: Any) -> None:
    random = np.random.default_rng(7)
    slabs = 0
    for _ in range(600):
        work = random_lines(random)
        monkeypatch.setenv("NNAPI_SHIM_THREADS", "16")
        span, tiles = divided(work)
        assert (tiles.slabs - 1) * tiles.units < work.units <= tiles.slabs * tiles.units
        assert tiles.count(work.rows) <= 2 * MAX_TILES
        whole = divided(work._replace(units=1, call=0))
        assert tiles.slabs == 1 or work.call or span < whole[0]
        slabs += tiles.slabs > 1
        monkeypatch.setenv("NNAPI_SHIM_THREADS", str(FEW_THREADS))
        few = divided(work)[1]
        assert few.slabs == 1 or work.rows == 1
    assert 200 < slabs < 590


@pytest.mark.parametrize("size", [(1, 14, 14, 512), (1, 7, 7, 960), (1, 1, 250, 144)])
def test_images_of_few_rows_have_tiles_for_many_threads(monkeypatch: Any, size: Any) -> None:
    _, rows, width, channels = size
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "16")
    work = DepthwiseWork(rows, width * channels * 9, channels // 16)
    assert divided(work)[1].count(rows) >= min(16, rows * channels // 16)


def test_the_fastest_choice_is_found_without_looking_at_all(monkeypatch: Any) -> None:
    random = np.random.default_rng(8)
    places = {"first": 0, "other": 0, "first of many threads": 0}
    for _ in range(2000):
        number = int(random.choice([1, 2, 3, 16]))
        monkeypatch.setenv("NNAPI_SHIM_THREADS", str(number))
        work = random_lines(random)
        slower = [1.0, *sorted(1 + 0.2 * random.random(int(random.integers(0, 4))))]
        choices = [
            work._replace(units=int(random.integers(1, 80)), slower=float(each)) for each in slower
        ]
        times = [divided(each)[0] for each in choices]
        at, tiles = fastest(choices)
        assert at == times.index(min(times))
        assert tiles == divided(choices[at])[1]
        of_many = "first of many threads" if number > FEW_THREADS else "first"
        places["other" if at else of_many] += 1
    assert min(places.values()) > 100, places


def random_shape(random: Any) -> Shape:
    """Of several slabs: of whole vectors, and with a rest."""
    size = int(random.choice([3, 3, 5]))
    stride, dilation = int(random.integers(1, 3)), int(random.choice([1, 1, 2]))
    height, width = (int(random.integers(1, 12)) for _ in range(2))
    depth = int(random.integers(1, 400))
    image = (int(random.integers(1, 3)), height, width, depth)
    one = (stride, stride), 1, (dilation, dilation)
    return Shape(image, 1, (size, size), *one, activation=int(random.integers(0, 4)))


@pytest.mark.parametrize("variant", VARIANTS)
def test_slabs_change_no_bit(monkeypatch: Any, variant: str) -> None:
    """Tiles are as small as can be; a last slab may begin earlier."""
    monkeypatch.setattr(depthwise_tiles, "PRODUCTS_PER_TILE", 1)
    monkeypatch.setattr(depthwise_tiles, "PRODUCTS_FOR_MANY", 1)
    monkeypatch.setattr(depthwise_tiles, "TILE_PRODUCTS", 1)
    counts = []

    def counted(function: Any) -> Any:
        def called(work: Any) -> Any:
            result = function(work)
            counts.append(result[1].slabs > 1)
            return result

        return called

    lowering = "nnapi_shim.drivers.cpu.lowering"
    monkeypatch.setattr(f"{lowering}.depthwise.divided", counted(divided))
    monkeypatch.setattr(f"{lowering}.depthwise_interleaved.fastest", counted(fastest))
    random = np.random.default_rng(len(variant))
    for _ in range(40):
        shape = random_shape(random)
        inputs, output = random_operands(shape, variant, True, False)
        inputs += [1, shape.stride[1], shape.stride[0], 1, shape.activation, False]
        inputs += [shape.dilation[1], shape.dilation[0]]
        batch, height, width, depth = shape.image
        sizes = (-(-n // s) for n, s in zip((height, width), shape.stride, strict=True))
        made = []
        for number in (1, *MANY):
            monkeypatch.setenv("NNAPI_SHIM_THREADS", str(number))
            run = Single(
                CpuDevice(), OperationType.DEPTHWISE_CONV_2D, inputs, output, (batch, *sizes, depth)
            )
            made.append(run.checked().tobytes())
            sizes = run.checked().shape[1:3]
        assert len({*made}) == 1, shape
    assert sum(counts) > 40


def test_a_tile_is_smaller_only_where_many_threads_have_none(monkeypatch: Any) -> None:
    for number in (1, 2):
        monkeypatch.setenv("NNAPI_SHIM_THREADS", str(number))
        assert [tile_of(100, units) for units in (1, 100, 150, 1000)] == [100] * 4
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "16")
    assert [tile_of(100, units) for units in (1, 160, 800, 1599, 1600)] == [25, 25, 50, 100, 100]


def images(*sizes: int) -> Any:
    """Random numbers, not of a normal distribution: some are large."""
    return (np.random.default_rng(len(sizes)).standard_cauchy(sizes)).astype(np.float32)


STEPS: dict[str, tuple[Any, Any, int]] = {
    "mul": (images(64, 1000), lambda model, x: model.mul(x, x), 16),
    "logistic": (images(64, 1001), lambda model, x: model.logistic(x), 16),
    "softmax": (images(2, 4, 32, 64), lambda model, x: model.softmax(x), 16),
    "mean": (images(1, 8, 8, 2048), lambda model, x: model.mean(x, [1, 2]), 16),
    "reduce_max": (images(1, 8, 8, 2040), lambda model, x: model.reduce_max(x, [1, 2]), 16),
    "reduce_prod": (images(3, 9, 1500), lambda model, x: model.reduce_prod(x, [1]), 9),
    "reduce_sum": (images(300, 257), lambda model, x: model.reduce_sum(x, [1]), 16),
    "concatenation": (images(1, 14, 14, 300), lambda model, x: model.concatenation([x, x], 3), 16),
    "transpose": (images(60, 1200), lambda model, x: model.transpose(x, [1, 0]), 16),
    "resize": (
        images(1, 9, 9, 128),
        lambda model, x: model.resize_bilinear(x, output_width=33, output_height=33),
        11,
    ),
    "average_pool": (
        images(1, 35, 35, 64),
        lambda model, x: model.average_pool_2d(x, padding="SAME", filter=3),
        16,
    ),
    "conv_2d": (
        images(1, 7, 7, 96),
        lambda model, x: model.conv_2d(
            x, images(160, 1, 1, 96), np.zeros(160, np.float32), padding="SAME"
        ),
        15,
    ),
    "winograd": (
        images(1, 32, 32, 16),
        lambda model, x: model.conv_2d(
            x, images(16, 3, 3, 16), np.zeros(16, np.float32), padding="SAME"
        ),
        14,
    ),
}
"""Step -> input, operation, least number of tiles of the longest step for 16 threads."""


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_few_tiles_have_more_for_many_threads(monkeypatch: Any, name: str) -> None:
    x, operation, least = STEPS[name]
    model = nnapi_shim.Model()
    model.outputs(operation(model, model.input("float32", x.shape)))
    model.finish()
    made, tiles = [], []
    for number in (1, 2, 16):
        monkeypatch.setenv("NNAPI_SHIM_THREADS", str(number))
        regions: list[Any] = []
        made.append(model.compile(devices=["nnapi-cpu"]).run(x).tobytes())
        with timed_regions(regions.append, by_tile=False):
            made.append(model.compile(devices=["nnapi-cpu"]).run(x).tobytes())
        tiles.append(max(region.tiles for region in regions))
    assert len({*made}) == 1
    assert tiles[1] < least <= tiles[2], tiles


def test_a_chain_has_tiles_for_many_threads(monkeypatch: Any) -> None:
    """Tile by tile only with as many tiles as threads: else the threads wait for the last."""
    size, channels = 150, 32
    model = nnapi_shim.Model()
    x = model.input("float32", (1, size, size, channels))
    y = model.depthwise_conv_2d(
        x, images(1, 3, 3, channels), np.zeros(channels, np.float32), 1, padding="SAME", stride=1
    )
    weights = images(64, 1, 1, channels)
    model.outputs(model.conv_2d(y, weights, np.zeros(64, np.float32), padding="SAME"))
    model.finish()
    values = images(1, size, size, channels)
    made, lengths = [], []
    for number in (1, 8, 16, 64):
        monkeypatch.setenv("NNAPI_SHIM_THREADS", str(number))
        regions: list[Any] = []
        with timed_regions(regions.append, by_tile=False):
            made.append(model.compile(devices=["nnapi-cpu"]).run(values).tobytes())
        lengths.append(max(len(region.steps) for region in regions))
        assert all(region.tiles >= min(number, 8) for region in regions)
        assert all(region.tiles >= min(number, 32) or len(region.steps) == 1 for region in regions)
    assert len({*made}) == 1


def test_small_quantized_operations_are_still_single(monkeypatch: Any) -> None:
    """More threads never divide what takes about as long as sharing it."""
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "16")
    x = single.qu8(np.arange(256).reshape(1, 4, 4, 16), 0.1, 3)
    run = Single(CpuDevice(), OperationType.RELU, [x], single.qu8(None, 0.1, 3), (1, 4, 4, 16))
    regions: list[Any] = []
    with timed_regions(regions.append, by_tile=False):
        run.checked()
    assert all(region.tiles == 1 for region in regions)


@pytest.mark.parametrize(("rows", "most"), [(256, 1), (1024, 8)])
def test_short_copies_are_single(monkeypatch: Any, rows: int, most: int) -> None:
    """A gather of 16 KB takes 1 us."""
    monkeypatch.setenv("NNAPI_SHIM_THREADS", "16")
    model = nnapi_shim.Model()
    x = model.input("float32", (2000, 16))
    model.outputs(model.gather(x, 0, np.arange(rows, dtype=np.int32)))
    model.finish()
    regions: list[Any] = []
    values = images(2000, 16)
    with timed_regions(regions.append, by_tile=False):
        result = model.compile(devices=["nnapi-cpu"]).run(values)
    assert (result == values[:rows]).all()
    assert [region.tiles for region in regions] == [most]
