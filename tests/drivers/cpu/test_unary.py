"""ABS EXP FLOOR LOG NEG RSQRT SIN SQRT on the CPU device against formulas in float64."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.elements import AWKWARD_SIZES, Quantized, expect, expect_of_reference, tensor
from tests.drivers.cpu.single import Single

FORMULAS = {
    Op.ABS: np.abs,
    Op.EXP: np.exp,
    Op.FLOOR: np.floor,
    Op.LOG: np.log,
    Op.NEG: np.negative,
    Op.RSQRT: lambda x: 1 / np.sqrt(x),
    Op.SIN: np.sin,
    Op.SQRT: np.sqrt,
}

every_operation = pytest.mark.parametrize("type", FORMULAS, ids=lambda type: type.name)


def compute(type, given, output, shape):
    return Single(CpuDevice(), type, [given], output, shape, misaligned=2).checked()


@every_operation
@pytest.mark.parametrize("size", [*AWKWARD_SIZES, 70001])
def test_floats(type, size):
    random = np.random.default_rng(size)
    values = random.normal(0, 4, size)
    if type in (Op.LOG, Op.RSQRT, Op.SQRT):
        values = np.exp(values / 2)
    for variant in ("f32", "f16"):
        given = tensor(variant, values)
        wanted = FORMULAS[type](given.array.astype(np.float64))
        found = compute(type, given, tensor(variant), (size,))
        expect(variant, found, wanted, absolute=2e-7 if type is Op.SIN else 1e-30)


@pytest.mark.parametrize("type", [Op.ABS, Op.NEG], ids=lambda type: type.name)
@pytest.mark.parametrize("size", [*AWKWARD_SIZES, 70001])
def test_integers(type, size):
    values = np.random.default_rng(size).integers(-(2**31), 2**31, size, dtype=np.int32)
    values[0] = -(2**31)
    wanted = FORMULAS[type](values.astype(np.int64)).astype(np.int32)
    found = compute(type, tensor("i32", values), tensor("i32"), (size,))
    np.testing.assert_array_equal(found, wanted)


@every_operation
def test_floats_of_all_sizes(type):
    """Subnormal numbers, infinities and NaN among them."""
    x = np.arange(0, 1 << 32, 99991, dtype=np.uint64).astype(np.uint32).view(np.float32)
    ends = [np.nan, np.inf, -np.inf, 0, -0.0, 1e-45, 1e-40, -1e-40, 3.4e38, 2**31, 1, -1]
    x = np.concatenate([x, np.array(ends, np.float32)])
    with np.errstate(all="ignore"):
        wanted = FORMULAS[type](x.astype(np.float64)).astype(np.float32)
    # Near multiples of pi and around e^-88 less than all digits are left.
    absolute = 2e-7 if type is Op.SIN else 1.5e-45
    found = compute(type, tensor("f32", x), tensor("f32"), x.shape)
    np.testing.assert_allclose(found, wanted, rtol=4e-7, atol=absolute)


def test_every_float16():
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    for type, formula in FORMULAS.items():
        with np.errstate(all="ignore"):
            wanted = formula(x.astype(np.float64)).astype(np.float16)
        found = compute(type, tensor("f16", x), tensor("f16"), x.shape)
        np.testing.assert_allclose(found, wanted, rtol=2**-10, atol=6e-8)


def test_sin_of_large_numbers_among_small_ones():
    """Blocks with and without numbers that need the exact reduction."""
    random = np.random.default_rng(1)
    x = random.normal(0, 10, 70001).astype(np.float32)
    x[[5, 1024, 4000, 70000]] = [1e30, -3e38, 8193, -12345678]
    found = compute(Op.SIN, tensor("f32", x), tensor("f32"), x.shape)
    np.testing.assert_allclose(found, np.sin(x.astype(np.float64)), rtol=0, atol=2e-7)


@pytest.mark.parametrize("scale", [1e-30, 0.01, 1, 1e30])
def test_every_quantized_root(scale):
    raw, kind = np.arange(256), Quantized(0.05, 3)
    for variant in ("qu8", "qs8"):
        given, output = tensor(variant, raw, Quantized(scale, 100)), tensor(variant, quantized=kind)
        found = compute(Op.RSQRT, given, output, (256,))
        expect_of_reference(Op.RSQRT, [given], output, found)
