"""TRANSPOSE and its like on the CPU device: what is large enough for several tiles, high ranks."""

import numpy as np
import pytest

from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import VARIANTS, random_tensor, same, tensor
from tests.single import Value


def check(type, variant, shape, *more):
    """Both devices agree; more: the inputs after the tensor, lists are tensors."""
    values = random_tensor(variant, np.random.default_rng(1), shape)
    inputs = [values, *(single.i32(x) if isinstance(x, list) else x for x in more)]
    same(type, inputs, tensor(variant), misaligned=3)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("shape", "perm"),
    [
        ((2, 57, 61, 35), (0, 3, 1, 2)),
        ((2, 35, 57, 61), (0, 2, 3, 1)),
        ((1, 224, 224, 3), (0, 3, 1, 2)),
        ((1, 4, 200, 131), (0, 2, 3, 1)),
        ((13, 33, 17, 40), (3, 2, 1, 0)),
        ((9, 128, 12, 37), (0, 2, 1, 3)),
        ((300, 1, 700), (2, 1, 0)),
        ((1, 1000, 1, 50), (2, 1, 0, 3)),
    ],
)
def test_transpose(variant, shape, perm):
    check(Op.TRANSPOSE, variant, shape, list(perm))


@pytest.mark.parametrize("variant", [*VARIANTS, "i32"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((300000,), 0), ((70, 60, 50), 1), ((2, 3, 1, 4, 3, 5, 2, 7), 5)]
)
def test_reverse(variant, shape, axis):
    check(Op.REVERSE, variant, shape, [axis])


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("axis", "groups"), [(3, 3), (3, 20), (1, 4), (-2, 28), (0, 2)])
def test_channel_shuffle(variant, axis, groups):
    check(Op.CHANNEL_SHUFFLE, variant, (2, 56, 28, 60), groups, axis)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("nchw", [False, True], ids=["nhwc", "nchw"])
@pytest.mark.parametrize("block", [1, 2, 3, 4, 5])
def test_blocks_there_and_back(variant, nchw, block):
    batch, height, width, depth = 3, 12 * block, 7 * block, 19
    shape = (batch, depth, height, width) if nchw else (batch, height, width, depth)
    pair, none = single.i32([block, block]), single.i32([[0, 0], [0, 0]])
    values = random_tensor(variant, np.random.default_rng(4), shape)
    for there, back, more in (
        (Op.SPACE_TO_DEPTH, Op.DEPTH_TO_SPACE, ([block], [block])),
        (Op.SPACE_TO_BATCH_ND, Op.BATCH_TO_SPACE_ND, ([pair, none], [pair])),
    ):
        blocks = same(there, [values, *more[0], nchw], tensor(variant))
        source = Value(values.operand._replace(dimensions=blocks.shape), blocks)
        result = same(back, [source, *more[1], nchw], tensor(variant))
        np.testing.assert_array_equal(result, values.array)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("paddings", [[[1, 3], [0, 5]], [[-2, 0], [-1, -2]], [[3, -1], [-40, 41]]])
def test_space_to_batch_pads_and_cuts(variant, paddings):
    check(Op.SPACE_TO_BATCH_ND, variant, (2, 30, 31, 3), [2, 1], paddings)
