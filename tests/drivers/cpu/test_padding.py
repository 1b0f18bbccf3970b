"""PAD, PAD_V2 and MIRROR_PAD on the CPU device: several tiles, high ranks, wide borders."""

import numpy as np
import pytest

from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import VARIANTS, random_tensor, same, tensor

REFLECT, SYMMETRIC = 0, 1


def check(type, variant, shape, paddings, *more):
    """Both devices agree."""
    values = random_tensor(variant, np.random.default_rng(1), shape)
    same(type, [values, single.i32(paddings), *more], tensor(variant))


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
    check(Op.PAD, variant, shape, paddings)
    value = {"f32": 2.5, "f16": single.scalar(OperandType.FLOAT16, 77)}.get(variant, 77)
    check(Op.PAD_V2, variant, shape, paddings, value)


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
    for mode in (REFLECT, SYMMETRIC):
        check(Op.MIRROR_PAD, variant, shape, paddings, mode)


def test_symmetric_repeats_everything():
    check(Op.MIRROR_PAD, "f32", (3, 4), ((3, 3), (4, 4)), SYMMETRIC)
