"""CONCATENATION, PACK, TILE and the family of RESHAPE on the CPU device."""

import numpy as np
import pytest

from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import VARIANTS, Quantized, random_tensor, same, tensor

EVERY_TYPE = (*VARIANTS, "i32")


@pytest.mark.parametrize("axis", range(4))
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("sizes", [(1,), (3, 1, 17), (1023, 5)])
def test_inputs_are_joined(variant, axis, sizes):
    random = np.random.default_rng(axis)
    shapes = [tuple(n if d == axis else d + 2 for d in range(4)) for n in sizes]
    inputs = [random_tensor(variant, random, shape) for shape in shapes]
    same(Op.CONCATENATION, [*inputs, axis], tensor(variant), dynamic=range(len(inputs)))


@pytest.mark.parametrize("variant", ["qu8", "qs8"])
@pytest.mark.parametrize("axis", [0, 1])
def test_inputs_are_requantized(variant, axis):
    random = np.random.default_rng(axis)
    kinds = [Quantized(0.05, 100), Quantized(0.02, 3), Quantized(1e-9, 9), Quantized(1e9, 255)]
    inputs = [random_tensor(variant, random, (9, 9), kind) for kind in kinds]
    result = same(Op.CONCATENATION, [*inputs, axis], tensor(variant, quantized=kinds[0]))
    np.testing.assert_array_equal(result[:9, :9], inputs[0].array)


@pytest.mark.parametrize("variant", EVERY_TYPE)
@pytest.mark.parametrize("count", [1, 3, 1023, 300000])
def test_reshape(variant, count):
    values = random_tensor(variant, np.random.default_rng(count), (count,))
    same(Op.RESHAPE, [values, single.i32((1, count, 1))], tensor(variant), misaligned=4)


@pytest.mark.parametrize("variant", EVERY_TYPE)
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("axis", [0, 2, 3])
def test_pack(variant, count, axis):
    random = np.random.default_rng(axis)
    inputs = [random_tensor(variant, random, (40, 17, 65)) for _ in range(count)]
    same(Op.PACK, [axis, *inputs], tensor(variant), dynamic=range(count), misaligned=2)


@pytest.mark.parametrize("variant", EVERY_TYPE)
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
    values = random_tensor(variant, np.random.default_rng(1), shape)
    same(Op.TILE, [values, single.i32(multiples)], tensor(variant), misaligned=3)


@pytest.mark.parametrize("shape", [(1,), (3, 7), (100, 1001), (2, 1, 3, 1, 2, 1, 5)])
def test_fill(shape):
    for output, value in (
        (single.f32(), 0.1),
        (single.f16(), single.scalar(OperandType.FLOAT16, 0.1)),
        (single.i32(), -(2**31)),
    ):
        result = same(Op.FILL, [single.i32(shape), value], output)
        assert result.shape == shape
