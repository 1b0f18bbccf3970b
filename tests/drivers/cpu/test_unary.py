"""ABS EXP FLOOR LOG NEG RSQRT SIN SQRT on the CPU device against the reference device."""

import numpy as np
import pytest

from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.elements import AWKWARD_SIZES, Quantized, close, same, tensor

ROOTS = (Op.LOG, Op.RSQRT, Op.SQRT)
OPERATIONS = (Op.ABS, Op.EXP, Op.FLOOR, Op.NEG, Op.SIN, *ROOTS)

every_operation = pytest.mark.parametrize("type", OPERATIONS, ids=lambda type: type.name)
every_size = pytest.mark.parametrize("size", [*AWKWARD_SIZES, 70001])


@every_operation
@every_size
def test_floats(type, size):
    values = np.random.default_rng(size).normal(0, 4, size)
    if type in ROOTS:
        values = np.exp(values / 2)
    for variant in ("f32", "f16"):
        inputs = [tensor(variant, values)]
        close(type, inputs, tensor(variant), absolute=2e-7 if type is Op.SIN else 1e-30)


@pytest.mark.parametrize("type", [Op.ABS, Op.NEG], ids=lambda type: type.name)
@every_size
def test_integers(type, size):
    values = np.random.default_rng(size).integers(-(2**31), 2**31, size, dtype=np.int32)
    values[0] = -(2**31)
    result = same(type, [tensor("i32", values)], tensor("i32"))
    assert result[0] == -(2**31)


@every_operation
def test_floats_of_all_sizes(type):
    """Subnormal numbers, infinities and NaN among them."""
    x = np.arange(0, 1 << 32, 99991, dtype=np.uint64).astype(np.uint32).view(np.float32)
    ends = [np.nan, np.inf, -np.inf, 0, -0.0, 1e-45, 1e-40, -1e-40, 3.4e38, 2**31, 1, -1]
    x = np.concatenate([x, np.array(ends, np.float32)])
    # Near multiples of pi and around e^-88 less than all digits are left.
    absolute = 2e-7 if type is Op.SIN else 1.5e-45
    close(type, [tensor("f32", x)], tensor("f32"), 4e-7, absolute)


@every_operation
def test_every_float16(type):
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    close(type, [tensor("f16", x)], tensor("f16"), 2**-10, 6e-8)


def test_sin_of_large_numbers_among_small_ones():
    """Blocks with and without numbers that need the exact reduction."""
    x = np.random.default_rng(1).normal(0, 10, 70001).astype(np.float32)
    x[[5, 1024, 4000, 70000]] = [1e30, -3e38, 8193, -12345678]
    close(Op.SIN, [tensor("f32", x)], tensor("f32"), 0, 2e-7)


@pytest.mark.parametrize("scale", [1e-30, 0.01, 1, 1e30])
def test_every_quantized_root(scale):
    for variant in ("qu8", "qs8"):
        values = tensor(variant, np.arange(256), Quantized(scale, 100))
        same(Op.RSQRT, [values], tensor(variant, quantized=Quantized(0.05, 3)))
