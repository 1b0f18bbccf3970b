"""QUANTIZE, DEQUANTIZE and CAST on the CPU device against the reference device."""

from itertools import product

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import AWKWARD_SIZES, Quantized, close, same, tensor
from tests.drivers.cpu.single import Single
from tests.drivers.exact.comparison import tier, tiers

every_size = pytest.mark.parametrize("size", [*AWKWARD_SIZES, 70001])


@every_size
@pytest.mark.parametrize("scale", [0.5, 0.037, 1e-5, 1e5])
def test_quantize(size, scale):
    # Halves of a step among them: with 0.5 as the scale, quarters are exact in every type.
    x = np.random.default_rng(size).integers(-800, 800, size) * 0.25
    for source in ("f32", "f16"):
        for target in ("qu8", "qs8"):
            output = tensor(target, quantized=Quantized(scale, 77))
            same(Op.QUANTIZE, [tensor(source, x)], output)


def test_quantize_rounds_halves_away_from_zero():
    x = np.array([0.25, -0.25, 0.75, 1.25, -1.25, 0.24999999, 1e30, -1e30, np.inf, -np.inf])
    output = tensor("qu8", quantized=Quantized(0.5, 100))
    result = Single(CpuDevice(), Op.QUANTIZE, [tensor("f32", x)], output, x.shape).checked()
    assert result.tolist() == [101, 99, 102, 103, 97, 100, 255, 0, 255, 0]


@pytest.mark.parametrize("scale", [0.5, 0.037, 0.98080283, 1 / 255, 3e-20, 7e20, 1e-33, 2e31])
@pytest.mark.parametrize("count", [16000, 517])
@pytest.mark.parametrize("name", tiers())
def test_quantize_around_halves(scale, name, count):
    """A block with a number close to a half is divided; those beside it are not."""
    rng = np.random.default_rng(3)
    steps = rng.integers(-260, 261, count)
    exact = (np.float32(scale) * (steps + 0.5)).astype(np.float32)
    moved = (exact.view(np.int32) + rng.integers(-3, 4, count)).astype(np.int32).view(np.float32)
    for share in (1, 0.05, 0.01):
        x = np.where(rng.random(count) < share, moved, steps * np.float32(scale)).astype(np.float32)
        x[::1700] = np.nan
        for target, zero_point in product(("qu8", "qs8"), (0, 99, 255)):
            output = tensor(target, quantized=Quantized(scale, zero_point))
            with tier(name):
                same(Op.QUANTIZE, [tensor("f32", x)], output)


@pytest.mark.parametrize("scale", [0.037, 1e-30, 1e30])
def test_quantize_far_out_of_range(scale):
    """Also what no int32 holds, beside numbers in range; every NaN becomes the largest number."""
    far = [scale * 2.0**k for k in range(7, 26)] + [3e38, np.inf]
    with np.errstate(over="ignore"):
        x = np.float32([sign * value for value in far for sign in (1, -1)])
    nan = np.array([0x7FC00000, -0x400000, 0x7FC01234, -0x3F0003, -1], np.int32).view(np.float32)
    within = np.float32(scale) * np.arange(-100, 100, dtype=np.float32)
    x = np.concatenate([within, x, within, nan, within])
    for target in ("qu8", "qs8"):
        for values in (x, x[::-1].copy(), np.repeat(x, 64)):
            output = tensor(target, quantized=Quantized(scale, 99))
            same(Op.QUANTIZE, [single.f32(values)], output)


@every_size
@pytest.mark.parametrize("target", ["f32", "f16"])
def test_dequantize(size, target):
    raw = np.random.default_rng(size).integers(0, 256, size)
    for values in (
        tensor("qu8", raw, Quantized(0.037, 13)),
        tensor("qs8", raw, Quantized(0.037, 200)),
        single.qsym8(raw - 128, 0.037),
    ):
        close(Op.DEQUANTIZE, [values], tensor(target))


@pytest.mark.parametrize("dim", range(4))
@pytest.mark.parametrize("target", ["f32", "f16"])
def test_dequantize_per_channel(dim, target):
    random = np.random.default_rng(dim)
    shape = (3, 17, 5, 301)
    scales = random.uniform(0.001, 1, shape[dim])
    values = single.qc8(random.integers(-128, 128, shape), scales, dim)
    close(Op.DEQUANTIZE, [values], tensor(target))


@every_size
@pytest.mark.parametrize("source", ["f32", "f16", "i32", "qu8"])
def test_cast(source, size):
    random = np.random.default_rng(size)
    if source == "i32":
        values = random.integers(-(2**31), 2**31, size) >> random.integers(0, 32, size)
    elif source == "qu8":
        values = random.integers(0, 256, size)
    else:
        values = random.normal(0, 1, size) * 2.0 ** random.integers(-9, 35, size)
        values[: min(size, 3)] = [np.nan, np.inf, -np.inf][:size]
    with np.errstate(over="ignore"):
        inputs = [tensor(source, values)]
    for target in ("f32", "f16", "i32", "qu8"):
        same(Op.CAST, inputs, tensor(target))


def test_cast_of_what_no_integer_holds():
    x = [np.nan, np.inf, -np.inf, 2.0**31, -(2.0**31), 255.5, 256, -0.5, -1]
    low, high = -(2**31), 2**31 - 1
    for target, expected in (
        ("i32", [0, high, low, high, low, 255, 256, 0, -1]),
        ("qu8", [0, 255, 0, 255, 0, 255, 255, 0, 0]),
    ):
        run = Single(CpuDevice(), Op.CAST, [tensor("f32", x)], tensor(target), (len(x),))
        assert run.checked().tolist() == expected


@pytest.mark.parametrize(
    "make", [single.bool8, single.q16, single.qsym16, single.qsym8, single.qs8]
)
def test_cast_that_copies(make):
    values = make(np.arange(100))
    result = Single(CpuDevice(), Op.CAST, [values], make(), (100,), misaligned=2).checked()
    np.testing.assert_array_equal(result, values.array)
