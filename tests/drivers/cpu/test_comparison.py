"""The comparisons and LOGICAL_AND LOGICAL_OR LOGICAL_NOT on the CPU device."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import AWKWARD_SIZES, Quantized, random_tensor, tensor
from tests.drivers.cpu.single import Single

COMPARISONS = {
    Op.EQUAL: np.equal,
    Op.NOT_EQUAL: np.not_equal,
    Op.GREATER: np.greater,
    Op.GREATER_EQUAL: np.greater_equal,
    Op.LESS: np.less,
    Op.LESS_EQUAL: np.less_equal,
}

SHAPES = [
    *[((n,), (n,)) for n in (*AWKWARD_SIZES, 70001)],
    ((5, 1), (3,)), ((30, 40, 3), (3,)), ((70, 40, 3), (1, 40, 3)), ((2, 70000), (2, 1)),
    ((1,), (1, 90001)), ((2, 1, 3, 1, 2, 1), (4, 1, 5, 1, 3)), ((3, 1, 4, 1, 5), (2, 1, 6, 1)),
]  # fmt: skip

every_comparison = pytest.mark.parametrize("type", COMPARISONS, ids=lambda type: type.name)
every_shape = pytest.mark.parametrize("shapes", SHAPES, ids=str)


def compute(type, inputs, shape):
    device, output = CpuDevice(), single.bool8()
    return Single(device, type, inputs, output, shape, (1,), misaligned=2).checked()


@every_comparison
@every_shape
def test_numbers(type, shapes):
    random = np.random.default_rng(len(str(shapes)))
    x, y = (random.integers(-2, 3, shape) for shape in shapes)
    wanted = COMPARISONS[type](x, y)
    for make in (single.f32, single.f16, single.i32):
        np.testing.assert_array_equal(compute(type, [make(x), make(y)], wanted.shape), wanted)
    for variant in ("qu8", "qs8"):
        inputs = [tensor(variant, x + 128), tensor(variant, y + 128)]
        np.testing.assert_array_equal(compute(type, inputs, wanted.shape), wanted)
    # Bytes are compared as they are, 255 is more than 1.
    x, y = (values.astype(np.uint8) for values in (x, y))
    found = compute(type, [single.bool8(x), single.bool8(y)], wanted.shape)
    np.testing.assert_array_equal(found, COMPARISONS[type](x, y))


@every_comparison
def test_at_the_ends(type):
    numbers = [np.nan, -np.inf, -1, -0.0, 0, 1e-45, 1e-40, 1, 65504, np.inf]
    for make, dtype in ((single.f32, np.float32), (single.f16, np.float16)):
        x, y = np.meshgrid(np.array(numbers, dtype), np.array(numbers, dtype))
        found = compute(type, [make(x), make(y)], x.shape)
        np.testing.assert_array_equal(found, COMPARISONS[type](x, y))
    x, y = np.meshgrid(*[np.array([-(2**31), -1, 0, 2**24, 2**24 + 1, 2**31 - 1])] * 2)
    found = compute(type, [single.i32(x), single.i32(y)], x.shape)
    np.testing.assert_array_equal(found, COMPARISONS[type](x, y))


@every_comparison
@pytest.mark.parametrize(
    ("kind0", "kind1"),
    [
        (Quantized(0.1, 3), Quantized(0.1, 3)),
        (Quantized(0.1, 3), Quantized(0.3, 200)),
        (Quantized(1, 128), Quantized(1e-30, 128)),
        # The larger numbers of each are infinite in float32.
        (Quantized(3e38, 128), Quantized(3e38, 128)),
        (Quantized(3e38, 128), Quantized(2e38, 128)),
    ],
)
def test_every_pair_of_quantized_numbers(type, kind0, kind1):
    raw = np.meshgrid(np.arange(256), np.arange(256))
    with np.errstate(over="ignore"):
        x, y = (
            np.float32(stored - kind.zero_point) * np.float32(kind.scale)
            for stored, kind in zip(raw, (kind0, kind1), strict=True)
        )
    for variant in ("qu8", "qs8"):
        inputs = [tensor(variant, raw[0], kind0), tensor(variant, raw[1], kind1)]
        found = compute(type, inputs, x.shape)
        np.testing.assert_array_equal(found, COMPARISONS[type](x, y))


@every_shape
def test_logical(shapes):
    random = np.random.default_rng(len(str(shapes)))
    x, y = (random.choice((0, 0, 1, 2, 254, 255), shape) for shape in shapes)
    inputs = [single.bool8(x), single.bool8(y)]
    for type, formula in ((Op.LOGICAL_AND, np.logical_and), (Op.LOGICAL_OR, np.logical_or)):
        wanted = formula(x, y)
        np.testing.assert_array_equal(compute(type, inputs, wanted.shape), wanted)
    np.testing.assert_array_equal(compute(Op.LOGICAL_NOT, inputs[:1], x.shape), x == 0)


@pytest.mark.parametrize("variant", ["f32", "f16", "i32", "qu8", "qs8"])
def test_in_place_of_an_input_only_if_sizes_agree(variant):
    """A comparison whose input dies with it: the result is smaller, and never written over it."""
    random = np.random.default_rng(1)
    given, x = random_tensor(variant, random, (4096,))
    (found,) = single.execute(
        CpuDevice(), Op.LESS, [given, given], [single.bool8()], tensors_are=single.TEMPORARY
    )
    np.testing.assert_array_equal(found, x < x)
