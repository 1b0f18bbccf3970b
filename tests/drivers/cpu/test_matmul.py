"""FULLY_CONNECTED and BATCH_MATMUL on the CPU device against plain formulas."""

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


# batch of lhs, batch of rhs, rows, depth, columns: unpacked (few rows or columns) and packed
MATRICES = (
    ((), (), 1, 1, 1), ((), (), 7, 33, 70), ((), (), 64, 10, 9), ((), (), 1, 37, 1100),
    ((3,), (3,), 2, 9, 17), ((3,), (3,), 3, 9, 17), ((3,), (3,), 13, 40, 65), ((5,), (5,), 4, 4, 4),
    ((2, 3), (2, 3), 6, 5, 130), ((2, 3), (1, 3), 5, 6, 7), ((2, 3), (2, 1), 5, 6, 7),
    ((2, 3), (1, 1), 5, 6, 7), ((9,), (1,), 1, 20, 30), ((4,), (1,), 1, 131, 3),
    ((3,), (3,), 1, 64, 64), ((2,), (2,), 30, 2, 3), ((2,), (2,), 300, 64, 5),
)  # fmt: skip


@pytest.mark.parametrize("variant", ("f32", "f16", "i32", "qs8"))
@pytest.mark.parametrize("adjoint", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("sizes", MATRICES, ids=str)
def test_batch_matmul(sizes: Any, adjoint: tuple[bool, bool], variant: str) -> None:
    lhs_batch, rhs_batch, rows, depth, columns = sizes
    random = np.random.default_rng(rows * depth + columns)
    shapes = [
        (*batch, *(size[::-1] if turned else size))
        for batch, size, turned in zip(
            (lhs_batch, rhs_batch), ((rows, depth), (depth, columns)), adjoint, strict=True
        )
    ]
    if variant in ("f32", "f16"):
        operands = [getattr(single, variant)(random.uniform(-1, 1, shape)) for shape in shapes]
        output, zeros = getattr(single, variant)(), (0, 0)
    elif variant == "i32":
        operands = [single.i32(random.integers(-(2**31), 2**31, shape)) for shape in shapes]
        output, zeros = single.i32(), (0, 0)
    else:
        zeros = tuple(random.integers(-128, 128, 2).tolist())
        operands = [
            single.qs8(random.integers(-128, 128, shape), scale, zero)
            for shape, scale, zero in zip(shapes, (0.02, 0.03), zeros, strict=True)
        ]
        output = single.qs8(None, 0.6, -5)
    lhs, rhs = (
        np.swapaxes(values, -1, -2) if turned else values
        for values, turned in zip(
            (o.array.astype(np.float64 if variant[0] == "f" else np.int64) - zero
             for o, zero in zip(operands, zeros, strict=True)),
            adjoint, strict=True,
        )
    )  # fmt: skip
    wanted = lhs @ rhs
    for dynamic in ((), (1,)):
        found = Single(
            CpuDevice(), OperationType.BATCH_MATMUL, [*operands, *adjoint], output, wanted.shape,
            dynamic, misaligned=1,
        ).checked()  # fmt: skip
        if variant == "i32":
            np.testing.assert_array_equal(found, wanted.astype(np.int32))
        elif variant == "qs8":
            raw = np.clip(np.round(wanted * 0.001) - 5, -128, 127)
            assert np.abs(found - raw).max() <= 1
            assert (found != raw).mean() <= 0.01 + 1 / raw.size
        else:
            tolerance = 1e-5 if variant == "f32" else 2e-3
            np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
