"""FULLY_CONNECTED on the CPU device against plain formulas."""

from typing import Any

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType
from tests import single
from tests.drivers.cpu import filters
from tests.drivers.cpu.single import Single

VARIANTS = ("f32", "f16", "qu8", "qs8")
SHAPES = (
    (1, 1, 1), (1, 5, 3), (1, 64, 16), (1, 131, 130), (1, 1024, 300), (2, 3, 65), (5, 17, 24),
    (6, 32, 16), (7, 33, 17), (13, 250, 64), (64, 10, 9),
)  # fmt: skip


def check(
    batch: int, depth: int, units: int, variant: str, activation: int = 0, **how: Any
) -> None:
    """Compute on the device and compare."""
    random = np.random.default_rng(batch * depth + units)
    quantization = None
    if variant in ("f32", "f16"):
        dtype, make = (np.float32, single.f32) if variant == "f32" else (np.float16, single.f16)
        shapes = ((batch, depth), (units, depth), (units,))
        image, weights, bias = (random.uniform(-1, 1, s).astype(dtype) for s in shapes)
        operands = [make(image), make(weights), make(bias)]
        output = make()
    else:
        lowest, highest = (0, 255) if variant == "qu8" else (-128, 127)
        make = single.qu8 if variant == "qu8" else single.qs8
        image = random.integers(lowest, highest + 1, (batch, depth))
        weights = random.integers(lowest, highest + 1, (units, depth))
        bias = random.integers(-3000, 3000, units)
        zeros = random.integers(lowest, highest + 1, 2)
        in_scale, scale, out = 0.043, np.float32(0.0023), (0.37, lowest + 100, lowest, highest)
        bias_scale = float(np.float32(np.float32(in_scale) * scale))
        operands = [
            make(image, in_scale, int(zeros[0])), make(weights, scale, int(zeros[1])),
            single.i32(bias, bias_scale),
        ]  # fmt: skip
        output = make(None, out[0], out[1])
        image, weights = image - zeros[0], weights - zeros[1]
        quantization = in_scale, scale, out
    wanted = image.astype(float) @ weights.astype(float).T + bias
    run = Single(
        CpuDevice(), OperationType.FULLY_CONNECTED, [*operands, activation], output,
        wanted.shape, **how,
    )  # fmt: skip
    found = run.checked()
    if quantization is None:
        tolerance = 3e-5 if variant == "f32" else 2e-3
        wanted = filters.activated(wanted, activation)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    else:
        wanted = filters.requantized(wanted, *quantization, activation)
        assert np.abs(found.astype(int) - wanted).max() <= 1


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_fully_connected(shape: tuple[int, int, int], variant: str) -> None:
    check(*shape, variant)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("activation", [1, 2, 3])
def test_activation(variant: str, activation: int) -> None:
    check(3, 40, 21, variant, activation)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("batch", [1, 4])
def test_weights_that_are_no_constant(variant: str, batch: int) -> None:
    check(batch, 29, 18, variant, dynamic=(1, 2))


@pytest.mark.parametrize("variant", ("f32", "qu8", "qs8"))
@pytest.mark.parametrize("batch", [1, 9])
def test_memory_at_odd_addresses(variant: str, batch: int) -> None:
    check(batch, 30, 20, variant, misaligned=1)
