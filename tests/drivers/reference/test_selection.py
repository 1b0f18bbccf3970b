"""SELECT, ARGMAX, ARGMIN and TOPK_V2 by hand."""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.enums import ResultCode
from tests.single import bool8, execute, f16, f32, i32, qs8, qu8

NAN = float("nan")


def test_select(compute):
    for make in (f32, f16, i32):
        inputs = [bool8([0, 1, 255]), make([1, 2, 3]), make([4, 5, 6])]
        assert compute(Op.SELECT, inputs, make()) == [4, 2, 3]


def test_select_requantizes(compute):
    mask = bool8([1, 1, 0, 0])
    # input1 in halves around 10, input2 in quarters around -128, the output in ones around 1
    inputs = [mask, qs8([13, 120, 0, 0], 0.5, 10), qs8([0, 0, -122, -101], 0.25, -128)]
    assert compute(Op.SELECT, inputs, qs8(None, 1, 1)) == [3, 56, 3, 8]
    inputs = [mask, qu8([0, 255, 0, 0]), qu8([0, 0, 7, 8], 2, 3)]
    assert compute(Op.SELECT, inputs, qu8(None, 1, 2)) == [2, 255, 10, 12]
    # half of a step below 0 is rounded away from 0 of the stored value, not of the real one
    assert compute(Op.SELECT, [bool8([1]), qu8([7], 0.5, 8), qu8([0])], qu8(None, 1, 8)) == [8]


def test_select_does_not_broadcast(compute):
    for shapes in (([1], [[1]], [[1]]), ([1, 0], [1], [1]), ([1], [1], [1, 2])):
        mask, one, other = shapes
        with pytest.raises(NnapiError, match="they must agree") as error:
            compute(Op.SELECT, [bool8(mask), f32(one), f32(other)], f32())
        assert error.value.code is ResultCode.OP_FAILED


def test_extremes(compute):
    table = [[3, 3, 1], [1, 0, 5]]
    for make in (f32, f16, i32, qu8, qs8):
        values = make(table)
        assert compute(Op.ARGMAX, [values, 1], i32()) == [0, 2]
        assert compute(Op.ARGMIN, [values, -1], i32()) == [2, 1]
        assert compute(Op.ARGMAX, [values, 0], i32()) == [0, 0, 1]
        assert compute(Op.ARGMIN, [make([2, 1, 1]), 0], i32()) == [1]


def test_nan_exceeds_nothing(compute):
    assert compute(Op.ARGMAX, [f32([1, NAN, 2, NAN]), 0], i32()) == [2]
    assert compute(Op.ARGMIN, [f32([2, NAN, 1]), 0], i32()) == [2]
    assert compute(Op.ARGMAX, [f32([NAN, 1, 2]), 0], i32()) == [0]


def topk(device, make, values, k):
    outputs = execute(device, Op.TOPK_V2, [make(values), k], [make(), i32()])
    return [array.tolist() for array in outputs]


def test_topk(device):
    for make in (f32, f16, i32, qu8, qs8):
        assert topk(device, make, [[1, 3, 3], [9, 2, 5]], 2) == [[[3, 3], [9, 5]], [[2, 1], [0, 2]]]
        assert topk(device, make, [4, 4, 4], 3) == [[4, 4, 4], [2, 1, 0]]
    assert topk(device, qs8, [-1, 1, -128, 127], 4) == [[127, 1, -1, -128], [3, 1, 0, 2]]
    assert topk(device, f32, [-1.5, -0.0, 0.0, -3], 3) == [[0, 0, -1.5], [2, 1, 0]]


@pytest.mark.parametrize(
    ("type", "tail", "outputs"),
    [
        (Op.TOPK_V2, [0], [f32(), i32()]),
        (Op.TOPK_V2, [-1], [f32(), i32()]),
        (Op.TOPK_V2, [4], [f32(), i32()]),
        (Op.ARGMAX, [2], [i32()]),
        (Op.ARGMIN, [-3], [i32()]),
    ],
    ids=["0", "negative", "too many", "axis", "negative axis"],
)
def test_values_that_are_refused(device, type, tail, outputs):
    with pytest.raises(NnapiError) as error:
        execute(device, type, [f32([[1, 2, 3], [4, 5, 6]]), *tail], outputs)
    assert error.value.code is ResultCode.OP_FAILED
