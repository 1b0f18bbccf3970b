"""SLICE, STRIDED_SLICE and SPLIT on the CPU device: several tiles, high ranks, long strides."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import random_tensor, tensor
from tests.drivers.cpu.single import Single
from tests.single import execute

VARIANTS = ("f32", "f16", "qu8", "qs8")


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
    given, _ = random_tensor(variant, np.random.default_rng(1), shape)
    wanted = given.array[
        tuple(slice(b, None if n == -1 else b + n) for b, n in zip(begin, size, strict=True))
    ]
    inputs = [given, single.i32(begin), single.i32(size)]
    found = Single(
        CpuDevice(), Op.SLICE, inputs, tensor(variant), wanted.shape, misaligned=1
    ).checked()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("strides", [(1, 2, 2, 1), (1, 1, 1, -1), (1, -1, 1, 3), (-2, 3, -1, 2)])
def test_strided_slice(variant, strides):
    given, _ = random_tensor(variant, np.random.default_rng(2), (3, 60, 61, 35))
    wanted = given.array[tuple(slice(None, None, stride) for stride in strides)]
    inputs = [given, *(single.i32(x) for x in ([0] * 4, [0] * 4, strides)), 15, 15, 0]
    found = Single(
        CpuDevice(), Op.STRIDED_SLICE, inputs, tensor(variant), wanted.shape, misaligned=1
    ).checked()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("variant", [*VARIANTS, "i32"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_split(variant, axis):
    given, _ = random_tensor(variant, np.random.default_rng(3), (12, 24, 36))
    parts = execute(CpuDevice(), Op.SPLIT, [given, axis, 4], [tensor(variant)] * 4)
    for part, wanted in zip(parts, np.split(given.array, 4, axis), strict=True):
        np.testing.assert_array_equal(part, wanted)
