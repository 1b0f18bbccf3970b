"""DEPTHWISE_CONV_2D of 3x3 with stride 1 in float32, on tiers that go down the image row by row."""

from typing import Any

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.isa import NATIVE_TIERS
from nnapi_shim.drivers.cpu.lowering import depthwise
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.hal.enums import OperationType
from tests import single
from tests.drivers.cpu.elements import results
from tests.drivers.cpu.single import Single

TIER = NATIVE_TIERS[library.current().tier]
pytestmark = pytest.mark.skipif(
    not depthwise.has_sliding(TIER), reason=f"tier {TIER.name} has no such kernel"
)
LANES = TIER.tiling.lanes


class Acting:
    """Switches the kernel off and on, and counts how often it is chosen."""

    def __init__(self) -> None:
        self.count, self.is_on = 0, True
        self._slides = depthwise.slides

    def __call__(self, *arguments: Any) -> bool:
        chosen = self.is_on and self._slides(*arguments)
        self.count += chosen
        return chosen


@pytest.fixture
def acting(monkeypatch: Any) -> Acting:
    """In place of what chooses the kernel."""
    result = Acting()
    monkeypatch.setattr(depthwise, "slides", result)
    return result


def operands(image: Any, filter: Any, bias: Any, pads: tuple[int, ...], activation: int) -> Any:
    """Of the operation; pads: left, right, top, bottom."""
    tensors = [single.f32(array) for array in (image, filter, bias)]
    return [*tensors, *pads, 1, 1, 1, activation, False, 1, 1]


def random_case(random: Any) -> tuple[Any, tuple[int, ...]]:
    """Operands, and the shape of the output."""
    # Of so many channels that few rows are computed between looks at the clock, now and then.
    most = 2000 if random.random() < 0.1 else 5 * LANES
    batch, channels = int(random.integers(1, 4)), int(random.integers(LANES, most))
    # Narrower than a strip, of some strips and a part of one; a tile, and several.
    height, width = int(random.integers(1, 40)), int(random.integers(1, 24))
    pads = tuple(map(int, random.integers(0, 3, 4)))
    shape = (batch, height + sum(pads[2:]) - 2, width + sum(pads[:2]) - 2, channels)
    if min(shape) < 1:
        return random_case(random)
    numbers = (
        random.uniform(-1, 1, size)
        for size in ((batch, height, width, channels), (1, 3, 3, channels), (channels,))
    )
    return operands(*numbers, pads, int(random.integers(0, 4))), shape


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_sums_are_those_of_single_rows(acting: Acting, monkeypatch: Any, threads: int) -> None:
    """Bit by bit: both add the same products in the same order."""
    monkeypatch.setenv("NNAPI_SHIM_THREADS", str(threads))
    random = np.random.default_rng(threads)
    for _ in range(60):
        inputs, shape = random_case(random)
        made = []
        for acting.is_on in (True, False):
            run = Single(CpuDevice(), OperationType.DEPTHWISE_CONV_2D, inputs, single.f32(), shape)
            made.append(run.checked().tobytes())
        assert made[0] == made[1], shape
    assert acting.count == 60


def test_results_are_those_of_the_reference(acting: Acting) -> None:
    random = np.random.default_rng(7)
    for _ in range(40):
        inputs, _ = random_case(random)
        actual, expected = results(
            OperationType.DEPTHWISE_CONV_2D, inputs, single.f32(), misaligned=4
        )
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
    assert acting.count == 40


def test_what_is_outside_is_not_read(acting: Acting) -> None:
    """Not even to be multiplied by 0: what is infinite there would become NaN."""
    for height, width in ((1, 1), (9, 1), (1, 9), (9, 9)):
        image = np.ones((1, height, width, LANES), np.float32)
        weights = np.full((1, 3, 3, LANES), np.inf, np.float32)
        inputs = operands(image, weights, np.zeros(LANES), (1, 1, 1, 1), 0)
        run = Single(
            CpuDevice(), OperationType.DEPTHWISE_CONV_2D, inputs, single.f32(), image.shape
        )
        assert not np.isnan(run.checked()).any()
    assert acting.count == 4


def test_only_what_the_kernel_computes_is_given_to_it(acting: Acting) -> None:
    """Another stride, dilation, filter, or fewer channels than a vector has."""
    for size, stride, dilation, channels in (
        ((3, 3), (2, 1), (1, 1), 20),
        ((3, 3), (1, 2), (1, 1), 20),
        ((3, 3), (1, 1), (2, 1), 20),
        ((3, 3), (1, 1), (1, 2), 20),
        ((2, 3), (1, 1), (1, 1), 20),
        ((3, 2), (1, 1), (1, 1), 20),
        ((3, 3), (1, 1), (1, 1), LANES - 1),
    ):
        random = np.random.default_rng(3)
        arrays = [
            single.f32(random.uniform(-1, 1, shape))
            for shape in ((1, 12, 11, channels), (1, *size, channels), (channels,))
        ]
        inputs = [*arrays, 1, stride[1], stride[0], 1, 0, False, dilation[1], dilation[0]]
        actual, expected = results(
            OperationType.DEPTHWISE_CONV_2D, inputs, single.f32(), misaligned=0
        )
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
    assert acting.count == 0
