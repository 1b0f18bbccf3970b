"""ADD SUB MUL DIV MAXIMUM MINIMUM POW by hand."""

from math import nan

import numpy as np
import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import FuseCode, ResultCode
from nnapi_shim.hal.enums import OperationType as Op
from tests.single import f16, f32, i32, qs8, qu8

LARGEST = float(np.finfo(np.float32).max)


def test_shapes_are_broadcast(compute):
    column, row = f32([[1], [2]]), f32([10, 20, 30])
    assert compute(Op.ADD, [column, row, 0], f32()) == [[11, 21, 31], [12, 22, 32]]
    assert compute(Op.SUB, [row, column, 0], f32()) == [[9, 19, 29], [8, 18, 28]]
    assert compute(Op.MUL, [column, row, 0], f32()) == [[10, 20, 30], [20, 40, 60]]


def test_shapes_that_do_not_match(compute):
    with pytest.raises(
        NnapiError, match=r"ADD \(operation 0\): dimensions \[2\] and \[3\]"
    ) as error:
        compute(Op.ADD, [f32([1, 2]), f32([1, 2, 3]), 0], f32())
    assert error.value.code is ResultCode.OP_FAILED


@pytest.mark.parametrize(
    ("activation", "expected"),
    [
        (FuseCode.NONE, [-7, -0.5, 0.5, 7]),
        (FuseCode.RELU, [0, 0, 0.5, 7]),
        (FuseCode.RELU1, [-1, -0.5, 0.5, 1]),
        (FuseCode.RELU6, [0, 0, 0.5, 6]),
    ],
)
def test_activation(compute, activation, expected):
    values = [f32([-7, -0.5, 0.5, 7]), f32([0])]
    assert compute(Op.ADD, [*values, int(activation)], f32()) == expected


def test_float16_is_rounded_once_to_even(compute):
    ulp = 2**-10
    assert compute(Op.ADD, [f16([1, 1 + ulp]), f16([ulp / 2]), 0], f16()) == [1, 1 + 2 * ulp]


def test_int32_wraps(compute):
    assert compute(Op.ADD, [i32([2**31 - 1, 5]), i32([1]), 0], i32()) == [-(2**31), 6]
    assert compute(Op.SUB, [i32([-(2**31)]), i32([1]), 0], i32()) == [2**31 - 1]
    assert compute(Op.MUL, [i32([65536, 3]), i32([65536, -4]), 0], i32()) == [0, -12]


def test_int32_has_no_activation(compute):
    with pytest.raises(NnapiError, match="activation") as error:
        compute(Op.ADD, [i32([1]), i32([1]), 1], i32())
    assert error.value.code is ResultCode.OP_FAILED


def test_add_quantized_rounds_halves_away_from_zero(compute):
    # real: 2, 0.5, -0.5
    assert compute(
        Op.ADD, [qu8([3, 1, 0], 0.5, 0), qu8([6, 4, 2], 0.25, 4), 0], qu8(None, 1, 10)
    ) == [12, 11, 9]


def test_sub_quantized(compute):
    # real: 3, -3, 255, in steps of 2
    assert compute(Op.SUB, [qs8([5, 2, 127]), qs8([2, 5, -128]), 0], qs8(None, 2, -1)) == [
        1,
        -3,
        127,
    ]


def test_add_quantized_activation(compute):
    values = [qu8([0, 100], 0.5, 20), qu8([20, 20], 0.5, 20)]  # real: -10, 40
    assert compute(Op.ADD, [*values, int(FuseCode.RELU6)], qu8(None, 0.5, 30)) == [30, 42]


def test_mul_quantized_rounds_halves_upwards(compute):
    # 1.5 and -1.5 steps: a multiplier of 1/2 is rounded by the doubling high product alone.
    assert compute(
        Op.MUL, [qu8([13, 7], 0.5, 10), qu8([1, 1], 0.5, 0), 0], qu8(None, 0.5, 100)
    ) == [102, 99]


def test_div_float(compute):
    assert compute(Op.DIV, [f32([1, -1, 3]), f32([0, 0, 2]), 0], f32()) == [LARGEST, -LARGEST, 1.5]
    assert compute(Op.DIV, [f32([1, -1]), f32([0]), int(FuseCode.RELU6)], f32()) == [6, 0]


def test_div_int32_rounds_down_and_by_zero_is_zero(compute):
    dividend = i32([5, -5, 5, 7, -(2**31)])
    divisor = i32([2, 2, -2, 0, -1])
    assert compute(Op.DIV, [dividend, divisor, 0], i32()) == [2, -3, -3, 0, -(2**31)]


def test_div_quantized_is_refused(compute):
    with pytest.raises(NnapiError) as error:
        compute(Op.DIV, [qs8([1]), qs8([1]), 0], qs8())
    assert error.value.code is ResultCode.OP_FAILED


def test_the_first_number_wins_over_nan(compute):
    values = [f32([nan, 1, nan, 2]), f32([1, nan, nan, 3])]
    assert compute(Op.MAXIMUM, values, f32()) == pytest.approx([nan, 1, nan, 3], nan_ok=True)
    assert compute(Op.MINIMUM, values, f32()) == pytest.approx([nan, 1, nan, 2], nan_ok=True)


def test_extremes_are_those_of_requantized_numbers(compute):
    # real: 1.5, -1.5, 2 against 1.5, in steps of 1: halves away from zero, after the zero point
    values = [qu8([13, 7, 14], 0.5, 10), qu8([6], 0.25)]
    assert compute(Op.MAXIMUM, values, qu8(None, 1, 20)) == [22, 22, 22]
    assert compute(Op.MINIMUM, values, qu8(None, 1, 20)) == [22, 19, 22]
    # -1.5 - 20 is rounded away from zero, too.
    assert compute(Op.MINIMUM, [qs8([-3], 0.5), qs8([0])], qs8(None, 1, -20)) == [-22]
    assert compute(Op.MAXIMUM, [i32([-5, 7]), i32([[6], [8]])], i32()) == [[6, 7], [8, 8]]


def test_pow(compute):
    base, exponent = f32([2, -2, -2, 0, 4, -8]), f32([10, 3, -2, 0, 0.5, 0.5])
    assert compute(Op.POW, [base, exponent], f32()) == pytest.approx(
        [1024, -8, 0.25, 1, 2, nan], nan_ok=True
    )
    assert compute(Op.POW, [f16([4]), f16([[2], [-1]])], f16()) == [[16], [0.25]]
