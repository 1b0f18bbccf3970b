"""RELU RELU1 RELU6 TANH LOGISTIC by hand."""

from math import inf

import pytest

from nnapi_shim.hal.enums import OperationType as Op
from tests.single import f16, f32, qs8, qu8

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
