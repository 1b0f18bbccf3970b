"""RELU RELU1 RELU6 TANH LOGISTIC ELU HARD_SWISH PRELU by hand."""

from math import exp, inf, log

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType, ResultCode
from nnapi_shim.hal.enums import OperationType as Op
from tests.single import f16, f32, qs8, qu8, scalar

FLOAT_MAX = 3.4028234663852886e38


def test_relu_float(compute):
    values = f32([-inf, -1, 0, 2, inf])
    assert compute(Op.RELU, [values], f32()) == [0, 0, 0, 2, FLOAT_MAX]
    assert compute(Op.RELU1, [values], f32()) == [-1, -1, 0, 1, 1]
    assert compute(Op.RELU6, [values], f32()) == [0, 0, 0, 2, 6]


def test_relu_keeps_raw_values_and_takes_bounds_from_the_input(compute):
    values, output = qu8([0, 8, 10, 13, 200], 0.5, 10), qu8(None, 0.5, 10)
    assert compute(Op.RELU, [values], output) == [10, 10, 10, 13, 200]
    assert compute(Op.RELU1, [values], output) == [8, 8, 10, 12, 12]
    assert compute(Op.RELU6, [values], output) == [10, 10, 10, 13, 22]


def test_relu_bounds_round_halves_away_from_zero(compute):
    # 1 / float32(0.4) is 2.5 in float32, and less in float64.
    assert compute(Op.RELU1, [qu8([0, 255], 0.4, 10)], qu8(None, 0.4, 10)) == [7, 13]


def test_relu_bounds_stay_inside_the_type(compute):
    assert compute(Op.RELU6, [qs8([-128, 127], 0.1, 100)], qs8(None, 0.1, 100)) == [100, 127]
    assert compute(Op.RELU1, [qs8([-128, 127], 0.005, 0)], qs8(None, 0.005, 0)) == [-128, 127]


def test_tanh(compute):
    assert compute(Op.TANH, [f32([0, 1, -1])], f32()) == pytest.approx([0, 0.76159416, -0.76159416])
    # -4, 0, 1 and 127/32: -127.9, 0, 97.5 and 127.9 steps of 1/128
    assert compute(Op.TANH, [qu8([0, 128, 160, 255], 1 / 32, 128)], qu8(None, 1 / 128, 128)) == [
        0,
        128,
        225,
        255,
    ]
    assert compute(Op.TANH, [qs8([-128, 0, 32, 127], 1 / 32)], qs8(None, 1 / 128)) == [
        -128,
        0,
        97,
        127,
    ]


def test_logistic(compute):
    assert compute(Op.LOGISTIC, [f32([0, 1, 100, -1000])], f32()) == pytest.approx(
        [0.5, 0.7310586, 1, 0]
    )
    assert compute(Op.LOGISTIC, [f16([0, 100])], f16()) == [0.5, 1]
    # -32, 0, 1 and 31.75: 0, 128, 187.2 and 256 steps of 1/256
    assert compute(Op.LOGISTIC, [qu8([0, 128, 132, 255], 0.25, 128)], qu8(None, 1 / 256)) == [
        0,
        128,
        187,
        255,
    ]
    assert compute(Op.LOGISTIC, [qs8([-128, 0, 4, 127], 0.25)], qs8(None, 1 / 256, -128)) == [
        -128,
        0,
        59,
        127,
    ]


def test_elu(compute):
    values = f32([2, 0, log(0.5), -inf])
    assert compute(Op.ELU, [values, 3.0], f32()) == pytest.approx([2, 0, -1.5, -3])
    # The negative part is that of every number: 2 - (e^2 - 1), and 0 less 0.
    assert compute(Op.ELU, [f32([2, -1]), -1.0], f32()) == pytest.approx([3 - exp(2), 0])
    assert compute(Op.ELU, [f32([200, -1]), 0.0], f32()) == [200, 0]
    alpha = scalar(OperandType.FLOAT16, 2)
    assert compute(Op.ELU, [f16([1, -inf]), alpha], f16()) == [1, -2]


def test_hard_swish(compute):
    values = f32([-4, -3, -1, 0, 3, 10])
    assert compute(Op.HARD_SWISH, [values], f32()) == pytest.approx([0, 0, -1 / 3, 0, 3, 10])
    # real: -1.5, 1.5, 6, that is -0.375, 1.125, 6 in steps of 1/4
    assert compute(Op.HARD_SWISH, [qu8([7, 13, 22], 0.5, 10)], qu8(None, 0.25, 100)) == [
        98,
        105,
        124,
    ]


def test_hard_swish_has_a_limit_to_its_scales(compute):
    with pytest.raises(NnapiError, match="scale") as error:
        compute(Op.HARD_SWISH, [qu8([1], 128)], qu8(None, 1))
    assert error.value.code is ResultCode.OP_FAILED
    # The second factor is at most 1 - 2^-15, and the product is cut off.
    assert compute(Op.HARD_SWISH, [qu8([1], 127)], qu8(None, 1)) == [126]


def test_prelu(compute):
    values = f32([[-2, 3], [4, -5]])
    assert compute(Op.PRELU, [values, f32([10, 0.5])], f32()) == [[-20, 3], [4, -2.5]]
    # real: -2, 0, 1.5 and slopes 0.5, -1: -1, 0, 1.5 and 2, 0, 1.5 in steps of 1/2
    inputs = [qu8([6, 10, 13], 0.5, 10), qu8([[12], [6]], 0.25, 10)]
    assert compute(Op.PRELU, inputs, qu8(None, 0.5, 100)) == [[98, 100, 103], [104, 100, 103]]
