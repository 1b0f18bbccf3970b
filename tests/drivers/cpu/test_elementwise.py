"""Arithmetic on two tensors, on the CPU device against formulas in float64; quantized ADD, SUB, MUL
and PRELU against the reference device, whose own test is tests/drivers/exact.
"""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.lowering.broadcasting import walk
from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.elements import (
    ACTIVATIONS,
    AWKWARD_SIZES,
    Quantized,
    expect,
    expect_of_reference,
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
        a, b = (
            random_tensor(variant, random, shape, kind)[0]
            for shape, kind in zip(shapes, kinds, strict=True)
        )
        output, shape = tensor(variant, quantized=result), np.broadcast_shapes(*shapes)
        found = compute(type, [a, b, 0], output, shape, misaligned=1)
        expect_of_reference(type, [a, b, 0], output, found)


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
    largest = np.finfo(np.float32).max
    np.testing.assert_array_equal(found, [largest, -largest, np.nan, largest, np.nan, 0])
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
        if variant.startswith("q"):
            expect_of_reference(type, [a, b, activation], output, found)
        else:
            expect(variant, found, wanted)


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
    inputs = [tensor("qu8", raw, kind) for raw, kind in zip(EVERY_PAIR, kinds[:2], strict=True)]
    type, output = Op.ADD if sign > 0 else Op.SUB, tensor("qu8", quantized=kinds[2])
    found = compute(type, [*inputs, 0], output, (256, 256))
    expect_of_reference(type, [*inputs, 0], output, found)


@pytest.mark.parametrize("scales", [(1, 0.5, 1), (0.1, 0.1, 0.011), (1e-20, 1e-10, 1)])
def test_every_product_of_quantized_numbers(scales):
    kinds = [Quantized(scales[0], 128), Quantized(scales[1], 255), Quantized(scales[2], 30)]
    inputs = [tensor("qu8", raw, kind) for raw, kind in zip(EVERY_PAIR, kinds[:2], strict=True)]
    output = tensor("qu8", quantized=kinds[2])
    found = compute(Op.MUL, [*inputs, 0], output, (256, 256))
    expect_of_reference(Op.MUL, [*inputs, 0], output, found)


# MAXIMUM MINIMUM POW PRELU: no limit of rank

EXTREMES = {Op.MAXIMUM: np.maximum, Op.MINIMUM: np.minimum}
MORE_SHAPES = [
    *SHAPES,
    ((2, 3, 1, 4, 1, 2), (5, 1, 2, 1)), ((3, 1, 4, 1, 5, 1), (2, 1, 6, 1, 7)),
    ((2, 2, 2, 2, 2, 2, 3), (2, 1, 2, 1, 2, 1, 3)), ((40, 1, 30, 1, 3), (20, 1, 7, 1)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", MORE_SHAPES, ids=str)
@pytest.mark.parametrize("type", EXTREMES, ids=lambda type: type.name)
def test_extremes(type, shapes):
    random = np.random.default_rng(len(str(shapes)))
    for variant in ("f32", "f16", "i32", "qu8", "qs8"):
        (a, x), (b, y) = (random_tensor(variant, random, shape) for shape in shapes)
        wanted = EXTREMES[type](x, y)
        found = compute(type, [a, b], tensor(variant), wanted.shape, misaligned=4)
        if variant == "i32":
            np.testing.assert_array_equal(found, wanted)
        else:
            expect(variant, found, wanted, off=0)


@pytest.mark.parametrize("type", EXTREMES, ids=lambda type: type.name)
@pytest.mark.parametrize("scales", [(0.25, 0.5, 1), (0.037, 0.11, 0.093), (1e-30, 1e30, 1)])
def test_extremes_of_requantized_numbers(type, scales):
    kinds = [Quantized(scales[0], 128), Quantized(scales[1], 3), Quantized(scales[2], 100)]
    (x, y), (s0, s1, s) = EVERY_PAIR, (np.float64(np.float32(scale)) for scale in scales)
    wanted = EXTREMES[type]((x - 128) * s0, (y - 3) * s1)
    for variant in ("qu8", "qs8"):
        inputs = [
            tensor(variant, raw, kind) for raw, kind in zip(EVERY_PAIR, kinds[:2], strict=True)
        ]
        found = compute(type, inputs, tensor(variant, quantized=kinds[2]), x.shape)
        # The zero point is added before halves are rounded.
        steps = np.clip(wanted / s, -1e6, 1e6) + (100 if variant == "qu8" else -28)
        rounded = np.trunc(steps + np.copysign(0.5, steps))
        low, high = (0, 255) if variant == "qu8" else (-128, 127)
        assert (found != np.clip(rounded, low, high)).mean() < 0.001


def test_extremes_at_the_ends():
    x, y = [np.nan, 1, np.nan, np.inf, -0.0, 0], [1, np.nan, np.nan, -np.inf, 0, -0.0]
    for variant in ("f32", "f16"):
        inputs = [tensor(variant, x), tensor(variant, y)]
        found = compute(Op.MAXIMUM, inputs, tensor(variant), (6,))
        np.testing.assert_array_equal(found, [np.nan, 1, np.nan, np.inf, 0, 0])
        found = compute(Op.MINIMUM, inputs, tensor(variant), (6,))
        np.testing.assert_array_equal(found, [np.nan, 1, np.nan, -np.inf, 0, 0])


@pytest.mark.parametrize("shapes", MORE_SHAPES, ids=str)
def test_pow(shapes):
    random = np.random.default_rng(len(str(shapes)))
    for variant in ("f32", "f16"):
        base = tensor(variant, np.exp(random.normal(0, 2, shapes[0])))
        exponent = tensor(variant, random.normal(0, 2, shapes[1]))
        wanted = base.array.astype(np.float64) ** exponent.array.astype(np.float64)
        found = compute(Op.POW, [base, exponent], tensor(variant), wanted.shape, misaligned=4)
        expect(variant, found, wanted)


def test_pow_at_the_ends():
    ends = [
        0, 1e-45, 1e-30, 0.5, 0.9999999, 1, 1.5, 2, 2.5, 3, 7, 8388609, 2.0**24, 3e38, np.inf,
        np.nan,
    ]  # fmt: skip
    ends = np.array(ends, np.float32)
    x, y = np.meshgrid(*[np.concatenate([ends, -ends])] * 2)
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    found = compute(Op.POW, [tensor("f32", x), tensor("f32", y)], tensor("f32"), x.shape)
    np.testing.assert_allclose(found, wanted, rtol=4e-7, atol=1.5e-45)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(wanted)[numbers])


@pytest.mark.parametrize("shapes", MORE_SHAPES, ids=str)
def test_prelu(shapes):
    random = np.random.default_rng(len(str(shapes)))
    kinds, result = (Quantized(0.037, 131), Quantized(0.02, 7)), Quantized(0.0513, 90)
    for variant in ("f32", "f16", "qu8", "qs8"):
        (a, x), (b, y) = (
            random_tensor(variant, random, shape, kind)
            for shape, kind in zip(shapes, kinds, strict=True)
        )
        wanted = np.where(x >= 0, x, x * y)
        output = tensor(variant, quantized=result)
        found = compute(Op.PRELU, [a, b], output, wanted.shape, misaligned=1)
        if variant.startswith("q"):
            expect_of_reference(Op.PRELU, [a, b], output, found)
        else:
            expect(variant, found, wanted)


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
