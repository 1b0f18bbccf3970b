"""CONCATENATION, PACK, TILE and the family of RESHAPE on the CPU device."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import Quantized, expect, random_tensor, tensor
from tests.drivers.cpu.single import Single

VARIANTS = ("f32", "f16", "qu8", "qs8")


@pytest.mark.parametrize("axis", range(4))
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("sizes", [(1,), (3, 1, 17), (1023, 5)])
def test_inputs_are_joined(variant, axis, sizes):
    random = np.random.default_rng(axis)
    shapes = [tuple(n if d == axis else d + 2 for d in range(4)) for n in sizes]
    given = [random_tensor(variant, random, shape)[0] for shape in shapes]
    wanted = np.concatenate([value.array for value in given], axis)
    found = Single(
        CpuDevice(), Op.CONCATENATION, [*given, axis], tensor(variant), wanted.shape,
        dynamic=range(len(given)), misaligned=2,
    ).checked()  # fmt: skip
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("variant", ["qu8", "qs8"])
@pytest.mark.parametrize("axis", [0, 1])
def test_inputs_are_requantized(variant, axis):
    random = np.random.default_rng(axis)
    kinds = [Quantized(0.05, 100), Quantized(0.02, 3), Quantized(1e-9, 9), Quantized(1e9, 255)]
    result = Quantized(0.05, 100)
    made = [random_tensor(variant, random, (9, 9), kind) for kind in kinds]
    wanted = np.concatenate([x for _, x in made], axis)
    found = Single(
        CpuDevice(), Op.CONCATENATION, [*(value for value, _ in made), axis],
        tensor(variant, quantized=result), wanted.shape, misaligned=1,
    ).checked()  # fmt: skip
    expect(variant, found, wanted, result)
    same = made[0][0].array
    np.testing.assert_array_equal(found[:9, :9], same)


@pytest.mark.parametrize("variant", [*VARIANTS, "i32"])
@pytest.mark.parametrize("count", [1, 3, 1023, 300000])
def test_reshape(variant, count):
    given, _ = random_tensor(variant, np.random.default_rng(count), (count,))
    shape = (1, count, 1)
    inputs = [given, single.i32(shape)]
    found = Single(CpuDevice(), Op.RESHAPE, inputs, tensor(variant), shape, misaligned=4).checked()
    np.testing.assert_array_equal(found, given.array.reshape(shape))


@pytest.mark.parametrize("variant", [*VARIANTS, "i32"])
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("axis", [0, 2, 3])
def test_pack(variant, count, axis):
    random = np.random.default_rng(axis)
    given = [random_tensor(variant, random, (40, 17, 65))[0] for _ in range(count)]
    wanted = np.stack([value.array for value in given], axis)
    found = Single(
        CpuDevice(), Op.PACK, [axis, *given], tensor(variant), wanted.shape, dynamic=range(count),
        misaligned=2,
    ).checked()  # fmt: skip
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("variant", [*VARIANTS, "i32"])
@pytest.mark.parametrize(
    ("shape", "multiples"),
    [
        ((1,), (100003,)),
        ((3,), (5000,)),
        ((20, 30), (40, 1)),
        ((20, 30), (1, 40)),
        ((5, 1, 7), (2, 300, 3)),
        ((2, 3, 1, 2, 1, 3), (1, 2, 3, 1, 5, 2)),
        ((300, 400), (1, 1)),
    ],
)
def test_tile(variant, shape, multiples):
    given, _ = random_tensor(variant, np.random.default_rng(1), shape)
    wanted = np.tile(given.array, multiples)
    inputs = [given, single.i32(multiples)]
    found = Single(
        CpuDevice(), Op.TILE, inputs, tensor(variant), wanted.shape, misaligned=3
    ).checked()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("shape", [(1,), (3, 7), (100, 1001), (2, 1, 3, 1, 2, 1, 5)])
def test_fill(shape):
    for output, value in (
        (single.f32(), 0.1),
        (single.f16(), single.scalar(OperandType.FLOAT16, 0.1)),
        (single.i32(), -(2**31)),
    ):
        found = Single(
            CpuDevice(), Op.FILL, [single.i32(shape), value], output, shape, misaligned=1
        ).checked()
        wanted = value if isinstance(value, int) else 0.1
        np.testing.assert_array_equal(found, np.full(shape, wanted, found.dtype))
