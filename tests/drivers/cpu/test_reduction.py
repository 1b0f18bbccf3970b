"""MEAN and the REDUCE operations on the CPU device: sizes at which the loops begin and end."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.elements import Quantized, random_tensor, tensor
from tests.drivers.cpu.single import Single
from tests.single import bool8, i32

CASES = [
    ((1,), (0,)), ((5,), (0,)), ((70001,), (0,)), ((3, 4097), (1,)), ((4097, 3), (1,)),
    ((4097, 3), (0,)), ((63, 1), (0,)), ((3, 1025), (0,)), ((9, 1024), (0,)), ((1030, 513), (0,)),
    ((2, 7, 33), (1,)), ((2, 8, 512), (1,)), ((2, 1000, 2), (1,)), ((300, 3, 70), (0, 2)),
    ((3, 5, 7, 11), (0, 2)), ((3, 5, 7, 11), (1, 3)), ((3, 5, 7, 11), (0, 3)),
    ((3, 5, 7, 11), (1, 2)), ((3, 5, 7, 11), (0, 1, 2, 3)), ((3, 5, 7, 11), (0, 1, 3)),
    ((3, 1, 7, 11), (1,)), ((1, 1, 1, 1), (2,)), ((2, 3, 1, 2000), (0, 2)),
]  # fmt: skip
every_case = pytest.mark.parametrize(("shape", "axes"), CASES, ids=str)
QUANTIZED = Quantized(0.5, 131)


def compute(type, given, axes, make, values):
    """The outputs of a run, without dimensions kept; `values` has the wanted dimensions."""
    keep_dims = 0 if type is Op.MEAN else False
    shape = values.shape or (1,)
    single = Single(
        CpuDevice(), type, [given, i32(list(axes)), keep_dims], make, shape, misaligned=1
    )
    return single.checked().reshape(values.shape)


@every_case
def test_sums_and_means(shape, axes):
    random = np.random.default_rng(len(str(shape)))
    for variant in ("f32", "f16"):
        given, x = random_tensor(variant, random, shape)
        relative = {"f32": 2e-7, "f16": 1e-3}[variant]
        for type, wanted in ((Op.REDUCE_SUM, x.sum(axes)), (Op.MEAN, x.mean(axes))):
            found = compute(type, given, axes, tensor(variant), wanted)
            np.testing.assert_allclose(found, wanted, rtol=relative, atol=1e-5 / len(shape))
    for variant in ("qu8", "qs8"):
        given, _ = random_tensor(variant, random, shape, QUANTIZED)
        wanted = np.trunc(given.array.mean(axes, dtype=np.float64))
        found = compute(Op.MEAN, given, axes, tensor(variant, None, QUANTIZED), wanted)
        np.testing.assert_array_equal(found, wanted)


@every_case
def test_extremes(shape, axes):
    random = np.random.default_rng(len(str(shape)))
    for variant in ("f32", "f16", "qu8", "qs8"):
        given, _ = random_tensor(variant, random, shape, QUANTIZED)
        for type, wanted in (
            (Op.REDUCE_MAX, given.array.max(axes)), (Op.REDUCE_MIN, given.array.min(axes)),
        ):  # fmt: skip
            found = compute(type, given, axes, tensor(variant, None, QUANTIZED), wanted)
            np.testing.assert_array_equal(found, wanted)


@every_case
def test_truth(shape, axes):
    random = np.random.default_rng(len(str(shape)))
    for share in (0.001, 0.999):
        values = np.where(random.random(shape) < share, random.integers(1, 256, shape), 0)
        for type, wanted in ((Op.REDUCE_ALL, values.all(axes)), (Op.REDUCE_ANY, values.any(axes))):
            found = compute(type, bool8(values), axes, bool8(), np.asarray(wanted))
            np.testing.assert_array_equal(found, wanted)


@every_case
def test_products(shape, axes):
    random = np.random.default_rng(len(str(shape)))
    values = np.float32(random.choice([-1, 1], shape) * random.uniform(0.97, 1.0309, shape))
    wanted = values.prod(axes, dtype=np.float64)
    given = tensor("f32", values)
    found = compute(Op.REDUCE_PROD, given, axes, tensor("f32"), wanted)
    np.testing.assert_allclose(found, wanted, rtol=2e-7)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("length", [2, 3, 4, 5, 70])
def test_a_product_with_a_zero_is_zero(axis, length):
    inf, nan = np.inf, np.nan
    values = np.ones((4, length), np.float32)
    values[0, [0, -1]] = 0, inf
    values[1, [0, -1]] = nan, 0
    values[2, [0, -1]] = -1, 0
    values[3, [0, -1]] = 2, inf
    wanted = np.float32([0, 0, 0, inf])
    if axis == 0:
        values = values.T.copy()
    for make in ("f32", "f16"):
        found = compute(Op.REDUCE_PROD, tensor(make, values), [axis], tensor(make), wanted)
        np.testing.assert_array_equal(found, wanted)
        assert not np.signbit(found).any()


@pytest.mark.parametrize("axis", [0, 1])
def test_extremes_of_numbers_that_are_not_finite(axis):
    inf, nan, largest = np.inf, np.nan, {"f32": np.finfo("f4").max, "f16": 65504}
    rows = [[nan] * 9, [-inf] * 9, [inf] * 9, [nan, 1] * 4 + [nan], [1, nan] * 4 + [1]]
    values = np.float32(rows)
    if axis == 0:
        values = values.T.copy()
    for make, most in largest.items():
        for type, wanted in (
            (Op.REDUCE_MAX, [-most, -most, inf, 1, 1]), (Op.REDUCE_MIN, [most, -inf, most, 1, 1]),
        ):  # fmt: skip
            shaped = np.float32(wanted)
            found = compute(type, tensor(make, values), [axis], tensor(make), shaped)
            np.testing.assert_array_equal(found, shaped)
