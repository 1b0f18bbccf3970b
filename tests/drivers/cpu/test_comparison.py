"""The comparisons and LOGICAL_AND LOGICAL_OR LOGICAL_NOT on the CPU device."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import AWKWARD_SIZES, Quantized, random_tensor, same, tensor

COMPARISONS = (
    Op.EQUAL, Op.NOT_EQUAL, Op.GREATER, Op.GREATER_EQUAL, Op.LESS, Op.LESS_EQUAL,
)  # fmt: skip

SHAPES = [
    *[((n,), (n,)) for n in (*AWKWARD_SIZES, 70001)],
    ((5, 1), (3,)), ((30, 40, 3), (3,)), ((70, 40, 3), (1, 40, 3)), ((2, 70000), (2, 1)),
    ((1,), (1, 90001)), ((2, 1, 3, 1, 2, 1), (4, 1, 5, 1, 3)), ((3, 1, 4, 1, 5), (2, 1, 6, 1)),
]  # fmt: skip

every_comparison = pytest.mark.parametrize("type", COMPARISONS, ids=lambda type: type.name)
every_shape = pytest.mark.parametrize("shapes", SHAPES, ids=str)


def check(type, *inputs):
    """The result is that of the reference device."""
    same(type, inputs, single.bool8(), dynamic=(1,))


@every_comparison
@every_shape
def test_numbers(type, shapes):
    random = np.random.default_rng(len(str(shapes)))
    x, y = (random.integers(-2, 3, shape) for shape in shapes)
    for make in (single.f32, single.f16, single.i32):
        check(type, make(x), make(y))
    for variant in ("qu8", "qs8"):
        check(type, tensor(variant, x + 128), tensor(variant, y + 128))
    # Bytes are compared as they are, 255 is more than 1.
    check(type, *(single.bool8(values.astype(np.uint8)) for values in (x, y)))


@every_comparison
def test_at_the_ends(type):
    numbers = [np.nan, -np.inf, -1, -0.0, 0, 1e-45, 1e-40, 1, 65504, np.inf]
    for make, dtype in ((single.f32, np.float32), (single.f16, np.float16)):
        check(type, *map(make, np.meshgrid(*[np.array(numbers, dtype)] * 2)))
    numbers = [-(2**31), -1, 0, 2**24, 2**24 + 1, 2**31 - 1]
    check(type, *map(single.i32, np.meshgrid(numbers, numbers)))


@every_comparison
@pytest.mark.parametrize(
    "kinds",
    [
        (Quantized(0.1, 3), Quantized(0.1, 3)),
        (Quantized(0.1, 3), Quantized(0.3, 200)),
        (Quantized(1, 128), Quantized(1e-30, 128)),
        # The larger numbers of each are infinite in float32.
        (Quantized(3e38, 128), Quantized(3e38, 128)),
        (Quantized(3e38, 128), Quantized(2e38, 128)),
    ],
)
def test_every_pair_of_quantized_numbers(type, kinds):
    raw = np.meshgrid(np.arange(256), np.arange(256))
    for variant in ("qu8", "qs8"):
        check(type, *(tensor(variant, *values) for values in zip(raw, kinds, strict=True)))


@every_shape
def test_logical(shapes):
    random = np.random.default_rng(len(str(shapes)))
    x, y = (single.bool8(random.choice((0, 0, 1, 2, 254, 255), shape)) for shape in shapes)
    check(Op.LOGICAL_AND, x, y)
    check(Op.LOGICAL_OR, x, y)
    check(Op.LOGICAL_NOT, x)


@pytest.mark.parametrize("variant", ["f32", "f16", "i32", "qu8", "qs8"])
def test_in_place_of_an_input_only_if_sizes_agree(variant):
    """A comparison whose input dies with it: the result is smaller, and never written over it."""
    random = np.random.default_rng(1)
    values = random_tensor(variant, random, (4096,))
    (result,) = single.execute(
        CpuDevice(), Op.LESS, [values, values], [single.bool8()], tensors_are=single.TEMPORARY
    )
    assert not result.any()
