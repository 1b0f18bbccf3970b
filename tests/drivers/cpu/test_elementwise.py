"""Operations on two tensors, on the CPU device against the reference device."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.lowering.broadcasting import walk
from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.elements import (
    AWKWARD_SIZES,
    USUAL,
    Quantized,
    close,
    random_tensor,
    results,
    same,
    tensor,
)
from tests.drivers.cpu.single import Single

ARITHMETIC = (Op.ADD, Op.SUB, Op.MUL, Op.DIV)
every_operation = pytest.mark.parametrize("type", ARITHMETIC, ids=lambda type: type.name)

SHAPES = [
    *[((n,), (n,)) for n in AWKWARD_SIZES],
    ((5, 3), (3,)), ((3,), (5, 3)), ((5, 1), (3,)), ((5, 3), (5, 1)), ((1,), (2, 3)),
    ((2, 1, 3, 1), (4, 1, 5)), ((2, 3, 4, 5), (1, 3, 1, 5)), ((2, 3, 4, 5), (2, 1, 4, 1)),
    ((2, 3, 4, 5), (3, 1, 1)), ((1, 2, 1, 65), (7, 1, 3, 1)), ((30, 40, 3), (3,)),
    ((1, 1, 1, 7), (70, 40, 7)), ((70, 40, 3), (1, 40, 3)), ((2, 70000), (70000,)),
    ((2, 70000), (2, 1)), ((300, 300), (300, 300)), ((1,), (1, 1, 1, 1)), ((1, 90001), (1, 1)),
]  # fmt: skip


every_shape = pytest.mark.parametrize("shapes", SHAPES, ids=str)


def compute(type, inputs, output, shape):
    return Single(CpuDevice(), type, inputs, output, shape, (1,)).checked()


def pair(variant, shapes, kinds=(USUAL, USUAL)):
    """Two random inputs."""
    random = np.random.default_rng(len(str(shapes)))
    return [
        random_tensor(variant, random, shape, kind)
        for shape, kind in zip(shapes, kinds, strict=True)
    ]


@every_shape
@every_operation
def test_floats_broadcast(type, shapes):
    for variant in ("f32", "f16"):
        close(type, [*pair(variant, shapes), 0], tensor(variant), dynamic=(1,), misaligned=6)


@every_shape
@every_operation
def test_integers_broadcast(type, shapes):
    a, b = pair("i32", shapes)
    if type is Op.DIV:
        random = np.random.default_rng(1)
        b = tensor("i32", b.array >> random.integers(0, 32, b.array.shape))
    same(type, [a, b, 0], tensor("i32"), dynamic=(1,), misaligned=12)


@every_shape
@pytest.mark.parametrize("type", [Op.ADD, Op.SUB, Op.MUL], ids=lambda type: type.name)
def test_quantized_broadcast(type, shapes):
    kinds = Quantized(0.037, 131), Quantized(0.11, 7)
    for variant in ("qu8", "qs8"):
        output = tensor(variant, quantized=Quantized(0.093, 90))
        same(type, [*pair(variant, shapes, kinds), 0], output, dynamic=(1,))


def test_integer_division_at_the_ends():
    x = [-(2**31), 2**31 - 1, -(2**31), 5, -5, 5, -5, 0, 2**31 - 1, -(2**31)]
    y = [-1, 0, 0, 2, 2, -2, -2, -7, -(2**31), 1]
    expected = [-(2**31), 0, 0, 2, -3, -3, 2, 0, -1, -(2**31)]
    actual = compute(Op.DIV, [tensor("i32", x), tensor("i32", y), 0], tensor("i32"), (len(x),))
    assert actual.tolist() == expected


def test_float_division_at_the_ends():
    x, y = [1, -1, 0, np.inf, np.nan, 1], [0, 0, 0, 2, 1, np.inf]
    inputs = [tensor("f32", x), tensor("f32", y)]
    actual = compute(Op.DIV, [*inputs, 0], tensor("f32"), (6,))
    largest = np.finfo(np.float32).max
    np.testing.assert_array_equal(actual, [largest, -largest, np.nan, largest, np.nan, 0])
    actual = compute(Op.DIV, [*inputs, 3], tensor("f32"), (6,))
    np.testing.assert_array_equal(actual, [6, 0, np.nan, 6, np.nan, 0])


@pytest.mark.parametrize("activation", range(4))
@every_operation
def test_fused_activation(type, activation):
    result = Quantized(0.04, 60) if type is Op.ADD else Quantized(0.07, 60)
    for variant in ("f32", "f16", "qu8", "qs8"):
        if type is Op.DIV and variant.startswith("q"):
            continue
        inputs = [*pair(variant, ((1023,), (1023,))), activation]
        close(type, inputs, tensor(variant, quantized=result), dynamic=(1,))


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
    same(type, [*inputs, 0], output, dynamic=(1,))


@pytest.mark.parametrize("scales", [(1, 0.5, 1), (0.1, 0.1, 0.011), (1e-20, 1e-10, 1)])
def test_every_product_of_quantized_numbers(scales):
    kinds = [Quantized(scales[0], 128), Quantized(scales[1], 255), Quantized(scales[2], 30)]
    inputs = [tensor("qu8", raw, kind) for raw, kind in zip(EVERY_PAIR, kinds[:2], strict=True)]
    output = tensor("qu8", quantized=kinds[2])
    same(Op.MUL, [*inputs, 0], output, dynamic=(1,))


# MAXIMUM MINIMUM POW PRELU: no limit of rank

every_extreme = pytest.mark.parametrize(
    "type", [Op.MAXIMUM, Op.MINIMUM], ids=lambda type: type.name
)
MORE_SHAPES = [
    *SHAPES,
    ((2, 3, 1, 4, 1, 2), (5, 1, 2, 1)), ((3, 1, 4, 1, 5, 1), (2, 1, 6, 1, 7)),
    ((2, 2, 2, 2, 2, 2, 3), (2, 1, 2, 1, 2, 1, 3)), ((40, 1, 30, 1, 3), (20, 1, 7, 1)),
]  # fmt: skip


more_shapes = pytest.mark.parametrize("shapes", MORE_SHAPES, ids=str)


@more_shapes
@every_extreme
def test_extremes(type, shapes):
    for variant in ("f32", "f16", "i32", "qu8", "qs8"):
        same(type, pair(variant, shapes), tensor(variant), dynamic=(1,), misaligned=4)


@every_extreme
@pytest.mark.parametrize("scales", [(0.25, 0.5, 1), (0.037, 0.11, 0.093), (1e-30, 1e30, 1)])
def test_extremes_of_requantized_numbers(type, scales):
    kinds = [Quantized(scales[0], 128), Quantized(scales[1], 3), Quantized(scales[2], 100)]
    for variant in ("qu8", "qs8"):
        inputs = [
            tensor(variant, raw, kind) for raw, kind in zip(EVERY_PAIR, kinds[:2], strict=True)
        ]
        same(type, inputs, tensor(variant, quantized=kinds[2]), dynamic=(1,))


def test_extremes_at_the_ends():
    x, y = [np.nan, 1, np.nan, np.inf, -0.0, 0], [1, np.nan, np.nan, -np.inf, 0, -0.0]
    for variant in ("f32", "f16"):
        inputs = [tensor(variant, x), tensor(variant, y)]
        actual = compute(Op.MAXIMUM, inputs, tensor(variant), (6,))
        np.testing.assert_array_equal(actual, [np.nan, 1, np.nan, np.inf, 0, 0])
        actual = compute(Op.MINIMUM, inputs, tensor(variant), (6,))
        np.testing.assert_array_equal(actual, [np.nan, 1, np.nan, -np.inf, 0, 0])


@more_shapes
def test_pow(shapes):
    random = np.random.default_rng(len(str(shapes)))
    for variant in ("f32", "f16"):
        base = tensor(variant, np.exp(random.normal(0, 2, shapes[0])))
        exponent = tensor(variant, random.normal(0, 2, shapes[1]))
        close(Op.POW, [base, exponent], tensor(variant), dynamic=(1,), misaligned=4)


def test_pow_at_the_ends():
    ends = [
        0, 1e-45, 1e-30, 0.5, 0.9999999, 1, 1.5, 2, 2.5, 3, 7, 8388609, 2.0**24, 3e38, np.inf,
        np.nan,
    ]  # fmt: skip
    ends = np.array(ends, np.float32)
    x, y = np.meshgrid(*[np.concatenate([ends, -ends])] * 2)
    actual, expected = results(Op.POW, [tensor("f32", x), tensor("f32", y)], tensor("f32"), (1,))
    np.testing.assert_allclose(actual, expected, rtol=4e-7, atol=1.5e-45)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual)[numbers], np.signbit(expected)[numbers])


@more_shapes
def test_prelu(shapes):
    kinds = Quantized(0.037, 131), Quantized(0.02, 7)
    for variant in ("f32", "f16", "qu8", "qs8"):
        output = tensor(variant, quantized=Quantized(0.0513, 90))
        close(Op.PRELU, pair(variant, shapes, kinds), output, dynamic=(1,))


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
