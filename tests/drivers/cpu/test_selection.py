"""SELECT, ARGMAX, ARGMIN and TOPK_V2 on the CPU device."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import (
    AWKWARD_SIZES,
    Quantized,
    random_tensor,
    same,
    same_outputs,
    tensor,
)
from tests.drivers.cpu.single import Single
from tests.single import bool8, execute, i32

VARIANTS = ("f32", "f16", "i32", "qu8", "qs8")


@pytest.mark.parametrize("count", [*AWKWARD_SIZES, 70001])
def test_select(count):
    random = np.random.default_rng(count)
    mask = random.integers(0, 3, count)
    for variant in VARIANTS:
        one, other = (random_tensor(variant, random, count) for _ in range(2))
        same(Op.SELECT, [bool8(mask), one, other], tensor(variant), dynamic=(1, 2))


@pytest.mark.parametrize("device", [CpuDevice, ReferenceDevice])
def test_select_takes_integers_with_a_scale_as_they_are(device):
    inputs = [bool8([1, 0]), i32([7, 8], 0.5), i32([-1, -2], 0.25)]
    (result,) = execute(device(), Op.SELECT, inputs, [i32()])
    np.testing.assert_array_equal(result, [7, -2])


@pytest.mark.parametrize("variant", ["qu8", "qs8"])
def test_select_requantizes_all_values(variant):
    mask, every = np.arange(512) < 256, np.tile(np.arange(256), 2)
    one, other = Quantized(0.25, 100), Quantized(1.5, 140)
    inputs = [bool8(mask), tensor(variant, every, one), tensor(variant, every, other)]
    same(Op.SELECT, inputs, tensor(variant, None, Quantized(0.5, 119)), dynamic=(1, 2))


EXTREME_CASES = [
    ((1,), 0), ((3, 1023), -1), ((3, 256), 1), ((3, 257), 1), ((2, 1023), 0), ((5, 4, 3), 1),
    ((1, 70001), 1), ((70001, 1), 0), ((2, 3, 4, 5, 2), 2), ((2, 7, 33, 17), 1), ((300, 1030), 0),
    ((40, 21), 1), ((9, 16), 1), ((9, 32), 1), ((9, 33), 1),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "axis"), EXTREME_CASES, ids=str)
def test_first_extremes(shape, axis):
    random = np.random.default_rng(len(str(shape)))
    for variant in VARIANTS:
        for few in (False, True):
            values = random_tensor(variant, random, shape)
            if few:  # so that most are equal
                values = values._replace(array=values.array % 3)
            # Not the reference device, which goes through an axis element by element.
            for type, index in ((Op.ARGMAX, np.argmax), (Op.ARGMIN, np.argmin)):
                expected = np.atleast_1d(index(values.array, axis))
                inputs = [values, axis]
                run = Single(CpuDevice(), type, inputs, i32(), expected.shape, misaligned=1)
                np.testing.assert_array_equal(run.checked(), expected)


@pytest.mark.parametrize("at", [0, 3, 255, 256, 599])
@pytest.mark.parametrize("axis", [0, 1])
def test_extremes_at_every_place(at, axis):
    for variant in VARIANTS:
        for type, value in ((Op.ARGMAX, 9), (Op.ARGMIN, 1)):
            values = np.full((2, 600), 4)
            values[1, at] = value
            expected = np.array([0, at])
            if axis == 0:
                values = values.T.copy()
            arguments = tensor(variant, values)
            result = Single(CpuDevice(), type, [arguments, axis], i32(), (2,)).checked()
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("axis", [0, 1])
def test_extremes_beside_nan_and_zeros(axis):
    nan = np.nan
    rows = np.float32(
        [[nan, 1, 2, nan], [1, nan, 2, nan], [nan] * 4, [-0.0, 0, -0.0, 0], [0, -0.0, -1, nan]]
    )
    arguments = rows if axis == 1 else rows.T.copy()
    for type, expected in ((Op.ARGMAX, [0, 2, 0, 0, 0]), (Op.ARGMIN, [0, 0, 0, 0, 2])):
        for variant in ("f32", "f16"):
            source = tensor(variant, arguments)
            result = Single(CpuDevice(), type, [source, axis], i32(), (5,)).checked()
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("length", [7, 21, 32, 40])
def test_extremes_among_nan(length):
    """One number, or two that are equal, in a row that has nothing else behind its first number."""
    rows = np.full((2 * length, length), np.nan, np.float32)
    rows[:, 0] = 2
    expected = np.arange(2 * length) % length
    rows[np.arange(2 * length), expected] = np.repeat(np.float32([3, np.inf]), length)
    rows[:, -1] = np.fmax(rows[:, -1], rows[np.arange(2 * length), expected])
    result = Single(
        CpuDevice(), Op.ARGMAX, [tensor("f32", rows), 1], i32(), expected.shape
    ).checked()
    np.testing.assert_array_equal(result, expected)
    lowest = tensor("f32", -rows)
    result = Single(CpuDevice(), Op.ARGMIN, [lowest, 1], i32(), expected.shape).checked()
    np.testing.assert_array_equal(result, expected)


def topk(variant, values, k):
    """Values and indices are those of the reference device."""
    same_outputs(Op.TOPK_V2, [tensor(variant, values), k], [tensor(variant), i32()])


TOPK_CASES = [
    (1, 1), (5, 1), (5, 5), (17, 16), (17, 17), (64, 20), (65, 33), (129, 129), (1000, 5),
    (1000, 16), (1000, 17), (1000, 70), (1000, 999), (5000, 20), (5000, 1100), (5000, 5000),
]  # fmt: skip


@pytest.mark.parametrize(("length", "k"), TOPK_CASES, ids=str)
@pytest.mark.parametrize("order", ["random", "ascending", "descending", "few values", "equal"])
def test_topk(length, k, order):
    random = np.random.default_rng(length + k)
    for variant in VARIANTS:
        rows = 1 if length > 2000 else 3
        source = random_tensor(variant, random, (rows, length))
        values = source.array.astype(np.float64 if variant in ("f32", "f16") else np.int64)
        if variant == "qs8":
            values += 128
        if order in ("ascending", "descending"):
            values = np.sort(values)
        if order == "descending":
            values = values[:, ::-1]
        if order == "few values":
            values = values % 3
        if order == "equal":
            values = values * 0 + 7
        topk(variant, values, k)


def test_topk_of_numbers_with_signs():
    topk("f32", [[-0.0, 0.0, -1, -np.inf, np.inf, 1e-45, -1e-45, 3e38]], 8)
    topk("f32", [[1.0, 0.0, -0.0, -1.0]], 4)
    topk("f16", [[-0.0, 0.0, -1, -np.inf, np.inf, 6e-8, -6e-8, 65504]], 8)
    topk("i32", [[-(2**31), 2**31 - 1, 0, -1, 1]], 5)
    topk("qs8", [[0, 255, 127, 128]], 4)
    topk("f32", [[-5.0] * 300 + [-7.0] * 300], 400)


@pytest.mark.parametrize("length", [5, 1000])
def test_topk_counts_nan_as_the_largest(length):
    values = np.zeros(length, np.float32)
    values[[1, 3]] = np.nan, np.inf
    for k in (3, min(length, 200)):
        result, indices = execute(
            CpuDevice(), Op.TOPK_V2, [single.f32(values), k], [single.f32(), i32()]
        )
        assert indices[:3].tolist() == [1, 3, length - 1]
        assert np.isnan(result[0])
        assert result[1] == np.inf
