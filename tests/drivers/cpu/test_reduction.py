"""MEAN and the REDUCE operations on the CPU device: sizes at which the loops begin and end."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.elements import VARIANTS, Quantized, close, random_tensor, same, tensor
from tests.drivers.cpu.single import Single
from tests.drivers.exact.comparison import tier, tiers
from tests.single import bool8, i32

CASES = [
    ((1,), (0,)), ((5,), (0,)), ((70001,), (0,)), ((3, 4097), (1,)), ((4097, 3), (1,)),
    ((4097, 3), (0,)), ((63, 1), (0,)), ((3, 1025), (0,)), ((9, 1024), (0,)), ((1030, 513), (0,)),
    ((2, 7, 33), (1,)), ((2, 8, 512), (1,)), ((2, 1000, 2), (1,)), ((300, 3, 70), (0, 2)),
    ((3, 5, 7, 11), (0, 2)), ((3, 5, 7, 11), (1, 3)), ((3, 5, 7, 11), (0, 3)),
    ((3, 5, 7, 11), (1, 2)), ((3, 5, 7, 11), (0, 1, 2, 3)), ((3, 5, 7, 11), (0, 1, 3)),
    ((257, 16), (0,)), ((6, 7, 32), (1,)), ((2, 4, 64), (1,)), ((5, 3, 48), (1,)),
    ((5000, 64), (0,)), ((3, 1, 7, 11), (1,)), ((1, 1, 1, 1), (2,)), ((2, 3, 1, 2000), (0, 2)),
]  # fmt: skip
every_case = pytest.mark.parametrize(("shape", "axes"), CASES, ids=str)
QUANTIZED = Quantized(0.5, 131)


def operands(type, values, axes):
    """Inputs of a reduction that keeps no dimensions."""
    return [values, i32(list(axes)), 0 if type is Op.MEAN else False]


def compute(type, variant, values, axis):
    """The outputs of a run over one axis of a matrix."""
    inputs, shape = operands(type, tensor(variant, values), [axis]), (values.shape[1 - axis],)
    return Single(CpuDevice(), type, inputs, tensor(variant), shape).checked()


@every_case
def test_sums_and_means(shape, axes):
    random = np.random.default_rng(len(str(shape)))
    for variant in VARIANTS:
        values = random_tensor(variant, random, shape, QUANTIZED)
        relative, absolute = {"f32": 2e-7, "f16": 1e-3}.get(variant), 1e-5 / len(shape)
        for type in (Op.MEAN,) if variant.startswith("q") else (Op.MEAN, Op.REDUCE_SUM):
            output = tensor(variant, None, QUANTIZED)
            close(type, operands(type, values, axes), output, relative, absolute)


BYTE_CASES = [
    ((70000, 64), (0,)), ((600, 200), (0,)), ((2, 300, 130), (1,)), ((3, 257, 64), (1,)),
    ((2, 513, 33), (1,)), ((5, 3, 40), (1,)), ((9, 2, 7), (1,)), ((4, 130, 3), (1,)),
    ((3, 2, 5, 300), (0, 2)), ((2, 50, 3, 6), (0, 2)), ((300, 4, 300), (0, 2)),
    ((1, 300000), (1,)), ((37, 4100), (1,)), ((3, 5, 100), (0, 2)),
    *[((133, length), (1,)) for length in (1, 2, 15, 16, 17, 31, 33, 48, 63, 64, 100, 4095, 4096)],
]  # fmt: skip

SHORT_ROWS = [
    ((count, length), (1,))
    for count in (15, 16, 17, 47, 130)
    for length in (1, 3, 5, 15, 16, 17, 40, 64, 65)
]


@pytest.mark.parametrize(("shape", "axes"), BYTE_CASES + SHORT_ROWS, ids=str)
@pytest.mark.parametrize("variant", ["qu8", "qs8"])
def test_means_of_bytes(shape, axes, variant):
    random = np.random.default_rng(len(str(shape)))
    near_whole = random.integers(0, 2, shape) + 131  # sums next to multiples of the count
    for values in (
        random.integers(0, 256, shape), np.full(shape, 255), np.zeros(shape, int), near_whole,
    ):  # fmt: skip
        inputs = operands(Op.MEAN, tensor(variant, values, QUANTIZED), axes)
        same(Op.MEAN, inputs, tensor(variant, None, QUANTIZED))


@every_case
@pytest.mark.parametrize("type", [Op.REDUCE_MAX, Op.REDUCE_MIN], ids=lambda type: type.name)
def test_extremes(type, shape, axes):
    random = np.random.default_rng(len(str(shape)))
    for variant in VARIANTS:
        values = random_tensor(variant, random, shape, QUANTIZED)
        same(type, operands(type, values, axes), tensor(variant, None, QUANTIZED))


@pytest.mark.parametrize("name", tiers())
@pytest.mark.parametrize("type", [Op.REDUCE_MAX, Op.REDUCE_MIN], ids=lambda type: type.name)
def test_extremes_of_short_rows(type, name):
    """Of many at a time; in each row, the extreme is anywhere, and alone."""
    random = np.random.default_rng(5)
    for shape, axes in [*SHORT_ROWS, ((20, 1, 500), (2,)), ((40000, 3), (1,)), ((600, 130), (1,))]:
        usual, extreme = (100, 250) if type is Op.REDUCE_MAX else (150, 3)
        values = np.full(shape, usual)
        rows = values.reshape(-1, shape[-1])
        rows[np.arange(len(rows)), random.integers(0, shape[-1], len(rows))] = extreme
        rows[random.random(len(rows)) < 0.3] = usual
        for variant in ("qu8", "qs8"):
            inputs = operands(type, tensor(variant, values, QUANTIZED), axes)
            with tier(name):
                same(type, inputs, tensor(variant, None, QUANTIZED))


@pytest.mark.parametrize("name", tiers())
def test_means_of_short_rows(name):
    random = np.random.default_rng(6)
    for shape, axes in [*SHORT_ROWS, ((40000, 3), (1,)), ((7000, 13), (1,))]:
        for variant in ("qu8", "qs8"):
            inputs = operands(Op.MEAN, random_tensor(variant, random, shape, QUANTIZED), axes)
            with tier(name):
                same(Op.MEAN, inputs, tensor(variant, None, QUANTIZED))


@pytest.mark.parametrize(("shape", "axes"), CASES + SHORT_ROWS, ids=str)
@pytest.mark.parametrize("type", [Op.REDUCE_ALL, Op.REDUCE_ANY], ids=lambda type: type.name)
def test_truth(type, shape, axes):
    random = np.random.default_rng(len(str(shape)))
    for share in (0.001, 0.999):
        values = np.where(random.random(shape) < share, random.integers(1, 256, shape), 0)
        same(type, operands(type, bool8(values), axes), bool8())


@every_case
def test_products(shape, axes):
    random = np.random.default_rng(len(str(shape)))
    values = np.float32(random.choice([-1, 1], shape) * random.uniform(0.97, 1.0309, shape))
    inputs = operands(Op.REDUCE_PROD, tensor("f32", values), axes)
    close(Op.REDUCE_PROD, inputs, tensor("f32"), 2e-7)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("length", [2, 3, 4, 5, 70])
def test_a_product_with_a_zero_is_zero(axis, length):
    inf, nan = np.inf, np.nan
    values = np.ones((4, length), np.float32)
    values[0, [0, -1]] = 0, inf
    values[1, [0, -1]] = nan, 0
    values[2, [0, -1]] = -1, 0
    values[3, [0, -1]] = 2, inf
    expected = np.float32([0, 0, 0, inf])
    if axis == 0:
        values = values.T.copy()
    for make in ("f32", "f16"):
        result = compute(Op.REDUCE_PROD, make, values, axis)
        np.testing.assert_array_equal(result, expected)
        assert not np.signbit(result).any()


@pytest.mark.parametrize("axis", [0, 1])
def test_extremes_of_numbers_that_are_not_finite(axis):
    inf, nan, largest = np.inf, np.nan, {"f32": np.finfo("f4").max, "f16": 65504}
    rows = [[nan] * 9, [-inf] * 9, [inf] * 9, [nan, 1] * 4 + [nan], [1, nan] * 4 + [1]]
    values = np.float32(rows)
    if axis == 0:
        values = values.T.copy()
    for make, most in largest.items():
        for type, expected in (
            (Op.REDUCE_MAX, [-most, -most, inf, 1, 1]), (Op.REDUCE_MIN, [most, -inf, most, 1, 1]),
        ):  # fmt: skip
            result = compute(type, make, values, axis)
            np.testing.assert_array_equal(result, np.float32(expected))
