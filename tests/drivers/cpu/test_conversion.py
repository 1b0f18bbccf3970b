"""QUANTIZE, DEQUANTIZE and CAST on the CPU device against formulas."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import AWKWARD_SIZES, Quantized, expect, tensor
from tests.drivers.cpu.single import Single


@pytest.mark.parametrize("size", [*AWKWARD_SIZES, 70001])
@pytest.mark.parametrize("scale", [0.5, 0.037, 1e-5, 1e5])
def test_quantize(size, scale):
    random = np.random.default_rng(size)
    kind = Quantized(scale, 77)
    for source, dtype in (("f32", np.float32), ("f16", np.float16)):
        # Halves of a step among them: with 0.5 as the scale, quarters are exact in every type.
        x = (random.integers(-800, 800, size) * 0.25).astype(dtype)
        wanted = np.float32(x) / np.float32(scale) * np.float64(np.float32(scale))
        for target in ("qu8", "qs8"):
            output = tensor(target, quantized=kind)
            given = [tensor(source, x)]
            found = Single(CpuDevice(), Op.QUANTIZE, given, output, (size,), misaligned=2).checked()
            expect(target, found, wanted, kind, off=0)


def test_quantize_rounds_halves_away_from_zero():
    x = np.array([0.25, -0.25, 0.75, 1.25, -1.25, 0.24999999, 1e30, -1e30, np.inf, -np.inf])
    output = tensor("qu8", quantized=Quantized(0.5, 100))
    found = Single(CpuDevice(), Op.QUANTIZE, [tensor("f32", x)], output, x.shape).checked()
    assert found.tolist() == [101, 99, 102, 103, 97, 100, 255, 0, 255, 0]


@pytest.mark.parametrize("size", [*AWKWARD_SIZES, 70001])
@pytest.mark.parametrize("target", ["f32", "f16"])
def test_dequantize(size, target):
    random = np.random.default_rng(size)
    raw = random.integers(0, 256, size)
    scale = np.float32(0.037)
    for source, zero_point in (("qu8", 13), ("qs8", 200), ("qsym8", 128)):
        if source == "qsym8":
            given = single.qsym8(raw - 128, scale)
        else:
            given = tensor(source, raw, Quantized(float(scale), zero_point))
        wanted = (raw - zero_point) * np.float64(scale)
        found = Single(
            CpuDevice(), Op.DEQUANTIZE, [given], tensor(target), (size,), misaligned=2
        ).checked()
        expect(target, found, wanted)


@pytest.mark.parametrize("dim", range(4))
@pytest.mark.parametrize("target", ["f32", "f16"])
def test_dequantize_per_channel(dim, target):
    random = np.random.default_rng(dim)
    shape = (3, 17, 5, 301)
    raw = random.integers(-128, 128, shape)
    scales = random.uniform(0.001, 1, shape[dim]).astype(np.float32)
    along = [1] * 4
    along[dim] = -1
    wanted = raw * scales.astype(np.float64).reshape(along)
    given = single.qc8(raw, scales, dim)
    found = Single(CpuDevice(), Op.DEQUANTIZE, [given], tensor(target), shape).checked()
    expect(target, found, wanted)


def truncated(x, low, high):
    """Toward zero, and to the nearest end of the range; NaN to 0."""
    return np.clip(np.trunc(np.where(np.isnan(x), 0, x)), low, high)


@pytest.mark.parametrize("size", [*AWKWARD_SIZES, 70001])
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
        given = tensor(source, values)
    x = given.array.astype(np.float64)
    for target in ("f32", "f16", "i32", "qu8"):
        with np.errstate(over="ignore", invalid="ignore"):
            wanted = {
                "f32": lambda: x.astype(np.float32),
                "f16": lambda: x.astype(np.float16),
                "i32": lambda: truncated(x, -(2**31), 2**31 - 1),
                "qu8": lambda: truncated(x, 0, 255),
            }[target]()
        found = Single(
            CpuDevice(), Op.CAST, [given], tensor(target), (size,), misaligned=2
        ).checked()
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    "make", [single.bool8, single.q16, single.qsym16, single.qsym8, single.qs8]
)
def test_cast_that_copies(make):
    given = make(np.arange(100))
    found = Single(CpuDevice(), Op.CAST, [given], make(), (100,), misaligned=2).checked()
    np.testing.assert_array_equal(found, given.array)
