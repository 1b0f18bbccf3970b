"""Digit products of float32 rows and 8-bit weights: how far they may be off."""

from typing import Any

import numpy as np
import pytest

from nnapi_shim import Compilation, Model
from nnapi_shim.drivers.cpu.lowering import weight_format
from nnapi_shim.drivers.cpu.lowering.digit_products import LARGE
from nnapi_shim.drivers.cpu.lowering.tiling import tier
from nnapi_shim.drivers.cpu.lowering.weight_format import has_digit_products
from nnapi_shim.drivers.cpu.passes.graph import keep_weights_q8
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.operations.declare import BoundOperand
from nnapi_shim.tools.explain import explain

pytestmark = pytest.mark.skipif(not tier().byte_weights, reason="this tier unpacks bytes")
F32, U8, S8 = "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also small models."""
    monkeypatch.setattr(keep_weights_q8, "MIN_WEIGHTS", 1)
    monkeypatch.setattr(weight_format, "MANY_WEIGHTS", 1)


def product(
    x: np.ndarray, weights: np.ndarray, bias: np.ndarray, scale: Any, unsigned: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Our result and the exact one, in float64."""
    model = Model()
    inputs = model.input(F32, x.shape)
    if unsigned:
        stored = model.constant((weights + 128).astype(np.uint8), U8, scale, 128)
    elif isinstance(scale, tuple):
        stored = model.constant(weights.astype(np.int8), scales=scale, channel_dim=0)
    else:
        stored = model.constant(weights.astype(np.int8), S8, scale, 0)
    model.outputs(model.fully_connected(inputs, model.dequantize(stored, output=F32), bias))
    model.finish()
    assert "keep_weights_q8" in {done.name for done in explain(model).passes}
    result = Compilation(model, devices=["nnapi-cpu"]).run(x)
    factors = np.float32(scale).astype(np.float64)
    return result, (x.astype(np.float64) @ weights.T.astype(np.float64)) * factors + bias


def wide(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Numbers of all magnitudes."""
    return (x * 10.0 ** rng.uniform(-45, 17, x.shape)).astype(np.float32)


def sparse(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Mostly zeros."""
    return np.where(rng.random(x.shape) < 0.1, x, np.float32(0))


def subnormal(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Below the normal numbers, and a few others."""
    return np.where(rng.random(x.shape) < 0.1, x, x * np.float32(1e-40))


def limits(x: np.ndarray, weights: np.ndarray, scale: Any, exact: np.ndarray) -> np.ndarray:
    """How far results may be off: some roundings of sums, and that of the elements."""
    sizes, weights = np.abs(x.astype(np.float64)), np.abs(weights.T.astype(np.float64))
    off = 2.0**-22 * sizes
    if tier().tiling.group == 4:
        off += 1.01 * np.minimum(2.0**-17 * sizes, 2.0**-23 * sizes.max(1, keepdims=True))
    step = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    return off @ weights * np.float32(scale).astype(np.float64) + step


@pytest.mark.parametrize("change", [None, wide, sparse, subnormal])
@pytest.mark.parametrize(
    ("rows", "depth", "units"),
    [(1, 1, 1), (1, 5, 3), (2, 16, 64), (3, 333, 70), (4, 64, 130), (1, 1100, 65), (1, 4099, 17)],
)
def test_results_are_near_the_exact_ones(rows: int, depth: int, units: int, change: Any) -> None:
    rng = np.random.default_rng(depth)
    x = rng.normal(size=(rows, depth)).astype(np.float32)
    x = x if change is None else change(rng, x)
    weights = rng.integers(-127, 128, (units, depth))
    weights[0], weights[-1, ::2] = 127, -127
    bias = rng.normal(size=units).astype(np.float32)
    scales = tuple(rng.uniform(0.001, 0.1, units).tolist())
    for scale, unsigned in ((0.0123, False), (0.0123, True), (scales, False)):
        result, exact = product(x, weights, bias, scale, unsigned)
        assert (np.abs(result - exact) <= limits(x, weights, scale, exact)).all()


def test_errors_are_those_of_float32() -> None:
    """Not more than of sums one product after the other."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4, 200)).astype(np.float32)
    weights = rng.integers(-127, 128, (300, 200))
    result, exact = product(x, weights, np.zeros(300, np.float32), 1.0)
    total = np.zeros((4, 300), np.float32)
    for k in range(200):
        total += x[:, k : k + 1] * weights[:, k].astype(np.float32)
    assert np.abs(result - exact).mean() < np.abs(total - exact).mean()


@pytest.mark.parametrize("largest", [1.0, 255.8 / 256, 2.0**-60, 2.0**-118, 2.0**-124])
def test_each_element_alone(largest: float) -> None:
    """Of every magnitude, beside a larger one; some are just below a power of two."""
    sizes = np.append(np.geomspace(1, 1e-6, 600), 2.0 ** -np.arange(20) * (1 - 2.0**-12))
    x = (largest * sizes * np.where(np.arange(620) % 3, 1, -1)).astype(np.float32)[np.newaxis]
    for weight in (127, -128):
        weights = weight * np.eye(620, dtype=np.int64)
        result, exact = product(x, weights, np.zeros(620, np.float32), 1.0)
        assert (np.abs(result - exact) <= limits(x, weights, 1.0, exact)).all()


def test_rows_of_subnormal_numbers() -> None:
    rng = np.random.default_rng(5)
    x = (rng.normal(size=(1, 50)) * 1e-41).astype(np.float32)
    weights = rng.integers(-127, 128, (70, 50))
    result, exact = product(x, weights, np.zeros(70, np.float32), 0.5)
    np.testing.assert_allclose(result, exact, rtol=2.0**-22, atol=2.0**-149)


@pytest.mark.parametrize("value", [-0.9999999, 0.9999999, 1 + 2**-14, 1 + 2**-22])
@pytest.mark.parametrize("weight", [-128, 127])
def test_the_largest_sums_of_digits(value: float, weight: int) -> None:
    """A deep product of equal elements, whose lower digits are the smallest that there are."""
    depth = 1 << 16
    x = np.full((1, depth), value, np.float32)
    result, exact = product(x, np.full((2, depth), weight), np.zeros(2, np.float32), 0.5)
    np.testing.assert_allclose(result, exact, rtol=2.0**-20)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 2.0**60, -3e38])
def test_large_elements(value: float) -> None:
    """Such a row is summed in float32; the one beside it is not."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 40)).astype(np.float32)
    x[0, 7] = value
    weights = rng.integers(-127, 128, (80, 40))
    weights[3, 7] = 0
    with np.errstate(invalid="ignore"):
        result, exact = product(x, weights, np.zeros(80, np.float32), 0.25)
    largest = np.finfo(np.float32).max
    expected = np.clip(exact, -largest, largest)
    np.testing.assert_allclose(result[0], expected[0], rtol=1e-6)
    assert (np.abs(result - exact)[1] <= limits(x[1:], weights, 0.25, exact[1:])).all()
    assert np.float32(2.0**60).view(np.int32) == LARGE


def test_large_scales_and_depths_have_other_kernels() -> None:
    for size, scale, expected in ((1 << 16, 2.0**30, True), (65537, 1.0, False), (9, 2e9, False)):
        weights = BoundOperand(0, OperandType.TENSOR_QUANT8_ASYMM_SIGNED, (3, size), scale)
        assert has_digit_products(weights) is expected
