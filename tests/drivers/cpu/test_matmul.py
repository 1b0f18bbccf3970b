"""FULLY_CONNECTED and BATCH_MATMUL on the CPU device against the reference device."""

from typing import Any

import numpy as np
import pytest

from nnapi_shim.hal.enums import OperationType
from tests import single
from tests.drivers.cpu.elements import close

VARIANTS = ("f32", "f16", "qu8", "qs8")
SHAPES = (
    (1, 1, 1), (1, 5, 3), (1, 64, 16), (1, 131, 130), (1, 1024, 300), (2, 3, 65), (5, 17, 24),
    (6, 32, 16), (7, 33, 17), (13, 250, 64), (64, 10, 9),
)  # fmt: skip


def check(
    batch: int, depth: int, units: int, variant: str, activation: int = 0,
    dynamic: tuple[int, ...] = (), misaligned: int = 0,
) -> None:  # fmt: skip
    """Both devices agree; quantized numbers are equal."""
    random = np.random.default_rng(batch * depth + units)
    make = getattr(single, variant)
    if variant in ("f32", "f16"):
        shapes = ((batch, depth), (units, depth), (units,))
        operands, output = [make(random.uniform(-1, 1, shape)) for shape in shapes], make()
    else:
        low = 0 if variant == "qu8" else -128
        zeros = random.integers(low, low + 256, 2).tolist()
        operands = [
            make(random.integers(low, low + 256, (batch, depth)), 0.043, zeros[0]),
            make(random.integers(low, low + 256, (units, depth)), 0.0023, zeros[1]),
            single.i32(
                random.integers(-3000, 3000, units), float(np.float32(0.043) * np.float32(0.0023))
            ),
        ]
        output = make(None, 0.37, low + 100)
    operands.append(activation)
    tolerance = 3e-5 if variant == "f32" else 2e-3
    operation = OperationType.FULLY_CONNECTED
    close(operation, operands, output, tolerance, tolerance, dynamic, misaligned)


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
        output = getattr(single, variant)()
    elif variant == "i32":
        operands = [single.i32(random.integers(-(2**31), 2**31, shape)) for shape in shapes]
        output = single.i32()
    else:
        zeros = random.integers(-128, 128, 2).tolist()
        operands = [
            single.qs8(random.integers(-128, 128, shape), scale, zero)
            for shape, scale, zero in zip(shapes, (0.02, 0.03), zeros, strict=True)
        ]
        output = single.qs8(None, 0.6, -5)
    tolerance = 1e-5 if variant == "f32" else 2e-3
    for dynamic in ((), (1,)):
        inputs = [*operands, *adjoint]
        close(OperationType.BATCH_MATMUL, inputs, output, tolerance, tolerance, dynamic)
