"""FULLY_CONNECTED by hand."""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import FuseCode, ResultCode
from nnapi_shim.hal.enums import OperationType as Op
from tests.single import f32, i32, qs8, qu8

WEIGHTS = f32([[1, 10], [100, 1000], [-1, -1]])


def test_rows_of_weights_are_units(compute):
    assert compute(Op.FULLY_CONNECTED, [f32([[1, 2]]), WEIGHTS, f32([0, 1, 2]), 0], f32()) == [
        [21, 2101, -1]
    ]


def test_the_input_is_flattened(compute):
    inputs = f32([[[1, 0, 0, 1]]])
    assert compute(
        Op.FULLY_CONNECTED, [inputs, WEIGHTS, f32([0, 0, 0]), int(FuseCode.RELU)], f32()
    ) == [[1, 100, 0], [10, 1000, 0]]


def test_quantized(compute):
    # (3 * 2 + 4) and (3 * -1 - 7) quarters
    inputs, weights = qu8([[13]], 0.5, 10), qu8([[4], [1]], 0.5, 2)
    assert compute(
        Op.FULLY_CONNECTED, [inputs, weights, i32([4, -7], 0.25), 0], qu8(None, 1, 5)
    ) == [[8, 2]]
    inputs, weights = qs8([[3]], 0.5), qs8([[2], [-1]], 0.5)
    assert compute(
        Op.FULLY_CONNECTED, [inputs, weights, i32([4, -7], 0.25), 0], qs8(None, 1, -5)
    ) == [[-2, -8]]


@pytest.mark.parametrize(
    ("inputs", "bias"), [([[1, 2, 3]], [0, 0, 0]), ([[1, 2]], [0, 0])], ids=["input", "bias"]
)
def test_sizes_that_do_not_fit(compute, inputs, bias):
    with pytest.raises(NnapiError) as error:
        compute(Op.FULLY_CONNECTED, [f32(inputs), WEIGHTS, f32(bias), 0], f32())
    assert error.value.code is ResultCode.OP_FAILED
