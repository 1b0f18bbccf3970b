"""PAD, PAD_V2 and MIRROR_PAD on the CPU device: several tiles, high ranks, wide borders."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import random_tensor, tensor
from tests.drivers.cpu.single import Single

VARIANTS = ("f32", "f16", "qu8", "qs8")


def padded(type, variant, shape, paddings, *more, mode="constant", **how):
    given, _ = random_tensor(variant, np.random.default_rng(1), shape)
    wanted = np.pad(given.array, paddings, mode, **how)
    inputs = [given, single.i32(paddings), *more]
    found = Single(CpuDevice(), type, inputs, tensor(variant), wanted.shape, misaligned=1).checked()
    np.testing.assert_array_equal(found, wanted)


CASES = [
    ((2, 56, 56, 19), ((0, 0), (1, 2), (3, 1), (0, 0))),
    ((2, 3, 57, 58), ((0, 0), (0, 0), (2, 1), (1, 2))),
    ((40, 50, 3), ((1, 1), (1, 1), (1, 1))),
    ((7, 9), ((300, 0), (0, 400))),
    ((1,), ((300001, 2),)),
    ((5, 6), ((0, 0), (0, 0))),
]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("shape", "paddings"), CASES)
def test_pad(variant, shape, paddings):
    zero = tensor(variant).operand.zero_point
    padded(Op.PAD, variant, shape, paddings, constant_values=zero)
    value = 2.5 if variant == "f32" else 77
    scalar = single.scalar(OperandType.FLOAT16, 77) if variant == "f16" else value
    padded(Op.PAD_V2, variant, shape, paddings, scalar, constant_values=value)


@pytest.mark.parametrize("variant", [*VARIANTS, "i32"])
@pytest.mark.parametrize(
    ("shape", "paddings"),
    [
        ((3, 56, 57, 19), ((0, 0), (1, 2), (3, 1), (0, 0))),
        ((60, 70, 3), ((9, 0), (1, 7), (2, 2))),
        ((1000,), ((999, 998),)),
        ((2, 2, 3, 2, 4, 2, 3), ((1, 0), (0, 1), (2, 1), (0, 0), (3, 3), (1, 1), (0, 2))),
        ((1, 5), ((0, 0), (2, 2))),
    ],
)
def test_mirror_pad(variant, shape, paddings):
    padded(Op.MIRROR_PAD, variant, shape, paddings, 0, mode="reflect")
    padded(Op.MIRROR_PAD, variant, shape, paddings, 1, mode="symmetric")


def test_symmetric_repeats_everything():
    padded(Op.MIRROR_PAD, "f32", (3, 4), ((3, 3), (4, 4)), 1, mode="symmetric")
