"""ADD SUB MUL DIV and the activations on the CPU device against formulas in float64."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.lowering.binary import walk
from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.elements import (
    ACTIVATIONS,
    AWKWARD_SIZES,
    Quantized,
    expect,
    random_tensor,
    tensor,
)
from tests.drivers.cpu.single import Single

FORMULAS = {Op.ADD: np.add, Op.SUB: np.subtract, Op.MUL: np.multiply, Op.DIV: np.divide}

SHAPES = [
    *[((n,), (n,)) for n in AWKWARD_SIZES],
    ((5, 3), (3,)), ((3,), (5, 3)), ((5, 1), (3,)), ((5, 3), (5, 1)), ((1,), (2, 3)),
    ((2, 1, 3, 1), (4, 1, 5)), ((2, 3, 4, 5), (1, 3, 1, 5)), ((2, 3, 4, 5), (2, 1, 4, 1)),
    ((2, 3, 4, 5), (3, 1, 1)), ((1, 2, 1, 65), (7, 1, 3, 1)), ((30, 40, 3), (3,)),
    ((1, 1, 1, 7), (70, 40, 7)), ((70, 40, 3), (1, 40, 3)), ((2, 70000), (70000,)),
    ((2, 70000), (2, 1)), ((300, 300), (300, 300)), ((1,), (1, 1, 1, 1)), ((1, 90001), (1, 1)),
]  # fmt: skip


def compute(type, inputs, output, shape, misaligned=0):
    return Single(CpuDevice(), type, inputs, output, shape, (1,), misaligned).checked()


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("type", FORMULAS, ids=lambda type: type.name)
def test_floats_broadcast(type, shapes):
    random = np.random.default_rng(len(str(shapes)))
    for variant in ("f32", "f16"):
        (a, x), (b, y) = (random_tensor(variant, random, shape) for shape in shapes)
        with np.errstate(all="ignore"):
            wanted = FORMULAS[type](x, y)
        found = compute(type, [a, b, 0], tensor(variant), wanted.shape, misaligned=6)
        with np.errstate(over="ignore"):
            expect(variant, found, wanted)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("type", FORMULAS, ids=lambda type: type.name)
def test_integers_broadcast(type, shapes):
    random = np.random.default_rng(len(str(shapes)))
    (a, x), (b, y) = (random_tensor("i32", random, shape) for shape in shapes)
    if type is Op.DIV:
        y = y >> random.integers(0, 32, y.shape)
        b = tensor("i32", y)
        wanted = np.where(y == 0, 0, x // np.where(y == 0, 1, y))
    else:
        wanted = FORMULAS[type](x, y).astype(np.int32)
    found = compute(type, [a, b, 0], tensor("i32"), wanted.shape, misaligned=12)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("type", [Op.ADD, Op.SUB, Op.MUL], ids=lambda type: type.name)
def test_quantized_broadcast(type, shapes):
    random = np.random.default_rng(len(str(shapes)))
    kinds = Quantized(0.037, 131), Quantized(0.11, 7)
    result = Quantized(0.093, 90)
    for variant in ("qu8", "qs8"):
        (a, x), (b, y) = (
            random_tensor(variant, random, shape, kind)
            for shape, kind in zip(shapes, kinds, strict=True)
        )
        wanted = FORMULAS[type](x, y)
        output = tensor(variant, quantized=result)
        found = compute(type, [a, b, 0], output, wanted.shape, misaligned=1)
        expect(variant, found, wanted, result)


def test_integer_division_at_the_ends():
    x = [-(2**31), 2**31 - 1, -(2**31), 5, -5, 5, -5, 0, 2**31 - 1, -(2**31)]
    y = [-1, 0, 0, 2, 2, -2, -2, -7, -(2**31), 1]
    wanted = [-(2**31), 0, 0, 2, -3, -3, 2, 0, -1, -(2**31)]
    found = compute(Op.DIV, [tensor("i32", x), tensor("i32", y), 0], tensor("i32"), (len(x),))
    assert found.tolist() == wanted


def test_float_division_at_the_ends():
    x, y = [1, -1, 0, np.inf, np.nan, 1], [0, 0, 0, 2, 1, np.inf]
    inputs = [tensor("f32", x), tensor("f32", y)]
    found = compute(Op.DIV, [*inputs, 0], tensor("f32"), (6,))
    np.testing.assert_array_equal(found, [np.inf, -np.inf, np.nan, np.inf, np.nan, 0])
    found = compute(Op.DIV, [*inputs, 3], tensor("f32"), (6,))
    np.testing.assert_array_equal(found, [6, 0, np.nan, 6, np.nan, 0])


@pytest.mark.parametrize("activation", range(4))
@pytest.mark.parametrize("type", FORMULAS, ids=lambda type: type.name)
def test_fused_activation(type, activation):
    random = np.random.default_rng(activation)
    for variant in ("f32", "f16", "qu8", "qs8"):
        if type is Op.DIV and variant.startswith("q"):
            continue
        result = Quantized(0.04, 60) if type is Op.ADD else Quantized(0.07, 60)
        (a, x), (b, y) = (random_tensor(variant, random, (1023,)) for _ in range(2))
        wanted = np.clip(FORMULAS[type](x, y), *ACTIVATIONS[activation])
        output = tensor(variant, quantized=result)
        found = compute(type, [a, b, activation], output, wanted.shape)
        # The bounds are rounded to steps, too, and halves of a step meet them.
        expect(variant, found, wanted, result, off=0.02)


EVERY_PAIR = np.meshgrid(np.arange(256), np.arange(256))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("scale0", "scale1", "scale"),
    [
        (1, 1, 1), (1, 1, 2), (0.25, 0.5, 1), (1, 1, 2**-18), (1, 0.999, 2**-18), (1, 1e-6, 0.01),
        (1e-30, 1e-30, 1e-30), (1e20, 1e20, 1e20), (1, 0.99999, 0.0039),
    ],
)  # fmt: skip
def test_every_sum_of_quantized_numbers(scale0, scale1, scale, sign):
    """Also where inputs are many times coarser than the output, and cancel each other."""
    kinds = [Quantized(scale0, 128), Quantized(scale1, 3), Quantized(scale, 100)]
    (x, y), (s0, s1, s) = EVERY_PAIR, (np.float64(np.float32(kind.scale)) for kind in kinds)
    inputs = [tensor("qu8", raw, kind) for raw, kind in zip(EVERY_PAIR, kinds[:2], strict=True)]
    wanted = (x - 128) * s0 + sign * (y - 3) * s1
    type = Op.ADD if sign > 0 else Op.SUB
    found = compute(type, [*inputs, 0], tensor("qu8", quantized=kinds[2]), x.shape)
    expect("qu8", found, wanted, Quantized(s, 100), off=0)


@pytest.mark.parametrize("scales", [(1, 0.5, 1), (0.1, 0.1, 0.011), (1e-20, 1e-10, 1)])
def test_every_product_of_quantized_numbers(scales):
    kinds = [Quantized(scales[0], 128), Quantized(scales[1], 255), Quantized(scales[2], 30)]
    inputs = [tensor("qu8", raw, kind) for raw, kind in zip(EVERY_PAIR, kinds[:2], strict=True)]
    product = np.float32(scales[0]) * np.float32(scales[1])
    wanted = (EVERY_PAIR[0] - 128) * (EVERY_PAIR[1] - 255) * np.float64(product)
    found = compute(Op.MUL, [*inputs, 0], tensor("qu8", quantized=kinds[2]), (256, 256))
    expect("qu8", found, wanted, kinds[2])


def test_walk_merges_axes():
    def sizes(*shapes):
        return [axis.size for axis in walk(*shapes) if axis.size > 1]

    assert sizes((2, 3, 4, 5), (2, 3, 4, 5)) == [120]
    assert sizes((2, 3, 4, 5), (1,)) == [120]
    assert sizes((2, 3, 4, 5), (5,)) == [24, 5]
    assert sizes((2, 3, 4, 5), (1, 3, 4, 5)) == [2, 60]
    assert sizes((2, 3, 4, 5), (2, 3, 1, 1)) == [6, 20]
    assert sizes((2, 1, 4, 1), (1, 3, 1, 5)) == [2, 3, 4, 5]
    assert sizes((), ()) == []


# Activations

CLAMPS = {Op.RELU: (0, 3.4028235e38), Op.RELU1: (-1, 1), Op.RELU6: (0, 6)}


@pytest.mark.parametrize("size", [*AWKWARD_SIZES, 70001])
@pytest.mark.parametrize("type", CLAMPS, ids=lambda type: type.name)
def test_clamps(type, size):
    random = np.random.default_rng(size)
    for variant in ("f32", "f16", "qu8", "qs8"):
        kind = Quantized(0.03, 70)
        given, x = random_tensor(variant, random, (size,), kind)
        low, high = CLAMPS[type]
        output = tensor(variant, quantized=kind)
        found = Single(CpuDevice(), type, [given], output, (size,), misaligned=2).checked()
        expect(variant, found, np.clip(x, low, high), kind)


def test_clamps_at_the_ends():
    x = [np.nan, np.inf, -np.inf, -0.0, 1e-42]
    found = Single(CpuDevice(), Op.RELU, [tensor("f32", x)], tensor("f32"), (5,)).checked()
    np.testing.assert_array_equal(found, np.array([np.nan, 3.4028235e38, 0, 0, 1e-42], np.float32))


def logistic(x):
    return np.where(x < 0, np.exp(np.minimum(x, 0)), 1) / (1 + np.exp(-np.abs(x)))


CURVES = {
    Op.TANH: (np.tanh, Quantized(1 / 128, 128)),
    Op.LOGISTIC: (logistic, Quantized(1 / 256, 0)),
}


@pytest.mark.parametrize("size", [*AWKWARD_SIZES, 70001])
@pytest.mark.parametrize("type", CURVES, ids=lambda type: type.name)
def test_curves(type, size):
    random = np.random.default_rng(size)
    function, kind = CURVES[type]
    for variant in ("f32", "f16", "qu8", "qs8"):
        given, x = random_tensor(variant, random, (size,))
        output = tensor(variant, quantized=kind)
        found = Single(CpuDevice(), type, [given], output, (size,), misaligned=2).checked()
        expect(variant, found, function(x), kind, absolute=1e-7)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 0.02, 1, 1e10])
@pytest.mark.parametrize("type", CURVES, ids=lambda type: type.name)
def test_every_quantized_number(type, scale):
    function, kind = CURVES[type]
    raw = np.arange(256)
    for variant in ("qu8", "qs8"):
        given = tensor(variant, raw, Quantized(scale, 100))
        output = tensor(variant, quantized=kind)
        found = Single(CpuDevice(), type, [given], output, (256,)).checked()
        expect(
            variant, found, function((raw - 100) * np.float64(np.float32(scale))), kind, off=0.01
        )
