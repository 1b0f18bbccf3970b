"""SLICE, STRIDED_SLICE and SPLIT on the CPU device: several tiles, high ranks, long strides."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import VARIANTS, random_tensor, same, tensor
from tests.single import execute


@pytest.mark.parametrize("variant", [*VARIANTS, "i32"])
@pytest.mark.parametrize(
    ("shape", "begin", "size"),
    [
        ((500000,), (123,), (400001,)),
        ((3, 224, 224, 3), (0, 1, 2, 0), (-1, 222, 220, -1)),
        ((100, 100, 40), (0, 0, 7), (100, 100, 3)),
        ((100, 100, 40), (0, 0, 39), (100, 100, 1)),
        ((2, 3, 4, 3, 2, 5, 3, 4, 2), (1, 0, 1, 1, 0, 2, 0, 1, 1), (1, 3, 2, 2, 2, 3, 3, 2, 1)),
        ((7, 9), (0, 0), (7, 9)),
    ],
)
def test_slice(variant, shape, begin, size):
    values = random_tensor(variant, np.random.default_rng(1), shape)
    same(Op.SLICE, [values, single.i32(begin), single.i32(size)], tensor(variant))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("strides", [(1, 2, 2, 1), (1, 1, 1, -1), (1, -1, 1, 3), (-2, 3, -1, 2)])
def test_strided_slice(variant, strides):
    values = random_tensor(variant, np.random.default_rng(2), (3, 60, 61, 35))
    inputs = [values, *(single.i32(x) for x in ([0] * 4, [0] * 4, strides)), 15, 15, 0]
    same(Op.STRIDED_SLICE, inputs, tensor(variant))


@pytest.mark.parametrize("variant", [*VARIANTS, "i32"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_split(variant, axis):
    values = random_tensor(variant, np.random.default_rng(3), (12, 24, 36))
    parts = execute(CpuDevice(), Op.SPLIT, [values, axis, 4], [tensor(variant)] * 4)
    for part, expected in zip(parts, np.split(values.array, 4, axis), strict=True):
        np.testing.assert_array_equal(part, expected)
