"""FULLY_CONNECTED and BATCH_MATMUL by hand."""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import FuseCode, ResultCode
from nnapi_shim.hal.enums import OperationType as Op
from tests.single import f16, f32, i32, qs8, qu8

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


LHS, RHS = [[1, 2, 3], [4, 5, 6]], [[1, 0], [10, 1], [100, 2]]
PRODUCT = [[321, 8], [654, 17]]


def turned(rows):
    """Rows and columns exchanged."""
    return [list(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("adj_x", [False, True])
@pytest.mark.parametrize("adj_y", [False, True])
def test_matrices_may_be_stored_transposed(compute, adj_x, adj_y):
    lhs, rhs = turned(LHS) if adj_x else LHS, turned(RHS) if adj_y else RHS
    for make in (f32, f16, i32):
        values = [make(lhs), make(rhs), adj_x, adj_y]
        assert compute(Op.BATCH_MATMUL, values, make()) == PRODUCT
    values = [qs8(lhs, 0.5), qs8([[v - 1 for v in row] for row in rhs], 4, -1), adj_x, adj_y]
    assert compute(Op.BATCH_MATMUL, values, qs8(None, 20, -3)) == [[29, -2], [62, -1]]


def test_batches_of_matrices(compute):
    def multiply(lhs, rhs):
        return compute(Op.BATCH_MATMUL, [f32(lhs), f32(rhs), False, False], f32())

    assert multiply([[[1, 2]], [[3, 4]]], [[[1], [10]], [[100], [1000]]]) == [[[21]], [[4300]]]
    assert multiply([[[1, 2]], [[3, 4]]], [[[1], [10]]]) == [[[21]], [[43]]]


def test_integers_wrap(compute):
    values = [i32([[2**30, 2**30]]), i32([[2], [3]]), False, False]
    assert compute(Op.BATCH_MATMUL, values, i32()) == [[2**30]]


@pytest.mark.parametrize(
    ("lhs", "rhs"),
    [
        ([[1, 2]], [[1, 2]]),
        ([[[1]]], [[1]]),
        ([1], [1]),
        ([[[1]]], [[[1]], [[1]]]),
        ([[[[[1]]]]], [[[[[1]]]]]),
    ],
    ids=["depth", "ranks", "rank 1", "batches", "rank 5"],
)
def test_matrices_that_do_not_fit(compute, lhs, rhs):
    with pytest.raises(NnapiError) as error:
        compute(Op.BATCH_MATMUL, [f32(lhs), f32(rhs), False, False], f32())
    assert error.value.code is ResultCode.OP_FAILED
