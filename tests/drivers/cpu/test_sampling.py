"""RANDOM_MULTINOMIAL on the CPU device."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.lowering.sampling import TILE_CLASSES, TILE_SAMPLES
from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.elements import same_outputs
from tests.drivers.cpu.single import Single
from tests.single import execute, f16, f32, i32


@pytest.mark.parametrize("make", [f32, f16])
@pytest.mark.parametrize(
    ("batch", "classes", "count"),
    [(1, 1, 3), (3, 1000, 7), (1, 10, TILE_SAMPLES + 3), (2, TILE_CLASSES + 1, 5)],
)
def test_the_same_numbers_as_the_reference(make, batch, classes, count):
    logits = np.random.default_rng(classes).uniform(-20, 20, (batch, classes))
    logits.flat[::7] = -np.inf
    logits.flat[3::11] = np.nan
    logits[:, -1] = 1
    operands = [make(logits), count, i32([-5, 2**31 - 1])]
    same_outputs(Op.RANDOM_MULTINOMIAL, operands, [i32()])


@pytest.mark.parametrize("logit", [-3e38, -100, 0, 3e38])
def test_extreme_logits(logit):
    operands = [f32([[logit, logit, -np.inf]]), 100, i32([1, 2])]
    (samples,) = execute(CpuDevice(), Op.RANDOM_MULTINOMIAL, operands, [i32()])
    assert set(samples[0].tolist()) == {0, 1}


def test_seeds_of_0_give_other_numbers_in_every_run():
    operands = [f32(np.zeros((1, 1000))), 50, i32([0, 0])]
    run = Single(CpuDevice(), Op.RANDOM_MULTINOMIAL, operands, i32(), (1, 50))
    run.run()
    first = run.result.values
    run.run()
    assert (first != run.result.values).any()
    assert first.min() >= 0
    assert first.max() < 1000


def test_one_seed_of_0_is_a_seed():
    for seeds in ([0, 1], [1, 0]):
        operands = [f32(np.zeros((1, 1000))), 50, i32(seeds)]
        execute(CpuDevice(), Op.RANDOM_MULTINOMIAL, operands, [i32()])  # both runs agree
