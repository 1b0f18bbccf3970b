"""TRANSPOSE and its like on the CPU device: what is large enough for several tiles, high ranks."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import random_tensor, tensor
from tests.drivers.cpu.single import Single

VARIANTS = ("f32", "f16", "qu8", "qs8")


def computed(type, variant, given, more, shape):
    inputs = [given, *(single.i32(x) if isinstance(x, list) else x for x in more)]
    return Single(CpuDevice(), type, inputs, tensor(variant), shape, misaligned=3).checked()


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
    given, _ = random_tensor(variant, np.random.default_rng(1), shape)
    wanted = given.array.transpose(perm)
    found = computed(Op.TRANSPOSE, variant, given, [list(perm)], wanted.shape)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("variant", [*VARIANTS, "i32"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((300000,), 0), ((70, 60, 50), 1), ((2, 3, 1, 4, 3, 5, 2, 7), 5)]
)
def test_reverse(variant, shape, axis):
    given, _ = random_tensor(variant, np.random.default_rng(2), shape)
    found = computed(Op.REVERSE, variant, given, [[axis]], shape)
    np.testing.assert_array_equal(found, np.flip(given.array, axis))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("axis", "groups"), [(3, 3), (3, 20), (1, 4), (-2, 28), (0, 2)])
def test_channel_shuffle(variant, axis, groups):
    shape = (2, 56, 28, 60)
    given, _ = random_tensor(variant, np.random.default_rng(3), shape)
    found = computed(Op.CHANNEL_SHUFFLE, variant, given, [groups, axis], shape)
    order = np.arange(shape[axis]).reshape(groups, -1).T.ravel()
    np.testing.assert_array_equal(found, given.array.take(order, axis))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("nchw", [False, True], ids=["nhwc", "nchw"])
@pytest.mark.parametrize("block", [1, 2, 3, 4, 5])
def test_blocks_there_and_back(variant, nchw, block):
    batch, height, width, depth = 3, 12 * block, 7 * block, 19
    shape = (batch, depth, height, width) if nchw else (batch, height, width, depth)
    given, _ = random_tensor(variant, np.random.default_rng(4), shape)
    where = 2 if nchw else 1
    rows, columns = height // block, width // block
    split = given.array.reshape(
        *shape[:where], rows, block, columns, block, *(() if nchw else (depth,))
    )

    into_depth = split.transpose((0, 3, 5, 1, 2, 4) if nchw else (0, 1, 3, 2, 4, 5))
    sizes = (depth * block**2, rows, columns) if nchw else (rows, columns, depth * block**2)
    deep = computed(Op.SPACE_TO_DEPTH, variant, given, [block, nchw], (batch, *sizes))
    np.testing.assert_array_equal(deep, into_depth.reshape(deep.shape))
    back = computed(Op.DEPTH_TO_SPACE, variant, given._replace(array=deep), [block, nchw], shape)
    np.testing.assert_array_equal(back, given.array)

    into_batch = split.transpose((3, 5, 0, 1, 2, 4) if nchw else (2, 4, 0, 1, 3, 5))
    sizes = (depth, rows, columns) if nchw else (rows, columns, depth)
    pair, none = [block, block], [[0, 0], [0, 0]]
    many = computed(
        Op.SPACE_TO_BATCH_ND, variant, given, [pair, none, nchw], (batch * block**2, *sizes)
    )
    np.testing.assert_array_equal(many, into_batch.reshape(many.shape))
    back = computed(Op.BATCH_TO_SPACE_ND, variant, given._replace(array=many), [pair, nchw], shape)
    np.testing.assert_array_equal(back, given.array)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("paddings", [[[1, 3], [0, 5]], [[-2, 0], [-1, -2]], [[3, -1], [-40, 41]]])
def test_space_to_batch_pads_and_cuts(variant, paddings):
    height, width = (n + sum(pair) for n, pair in zip((30, 31), paddings, strict=True))
    given, _ = random_tensor(variant, np.random.default_rng(5), (2, 30, 31, 3))
    zero = tensor(variant).operand.zero_point
    padded = np.full((2, height, width, 3), zero, given.array.dtype)
    for h in range(height):
        for w in range(width):
            ih, iw = h - paddings[0][0], w - paddings[1][0]
            if 0 <= ih < 30 and 0 <= iw < 31:
                padded[:, h, w] = given.array[:, ih, iw]
    block = [2, 1]
    wanted = padded.reshape(2, height // 2, 2, width, 3).transpose(2, 0, 1, 3, 4)
    shape = (4, height // 2, width, 3)
    found = computed(Op.SPACE_TO_BATCH_ND, variant, given, [block, paddings], shape)
    np.testing.assert_array_equal(found, wanted.reshape(shape))
