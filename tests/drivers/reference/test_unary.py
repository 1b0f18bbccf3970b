"""ABS EXP FLOOR LOG NEG RSQRT SIN SQRT by hand."""

from math import e, inf, isnan, pi

import pytest

from nnapi_shim.hal.enums import OperationType as Op
from tests.single import f16, f32, i32, qs8, qu8


def test_signs(compute):
    assert compute(Op.ABS, [f32([-1.5, 0, 2, -inf])], f32()) == [1.5, 0, 2, inf]
    assert compute(Op.NEG, [f16([-1.5, 2])], f16()) == [1.5, -2]


def test_the_smallest_int32_has_no_opposite(compute):
    assert compute(Op.ABS, [i32([-(2**31), -5, 5])], i32()) == [-(2**31), 5, 5]
    assert compute(Op.NEG, [i32([-(2**31), -5, 5])], i32()) == [-(2**31), 5, -5]


def test_floor(compute):
    assert compute(Op.FLOOR, [f32([-1.5, -0.25, 0.75, 2])], f32()) == [-2, -1, 0, 2]


def test_functions(compute):
    assert compute(Op.EXP, [f32([0, 1, -inf])], f32()) == pytest.approx([1, e, 0])
    assert compute(Op.LOG, [f32([1, e, 0])], f32()) == pytest.approx([0, 1, -inf])
    assert compute(Op.SIN, [f32([0, pi / 6, pi / 2])], f32()) == pytest.approx([0, 0.5, 1])
    assert compute(Op.SQRT, [f16([0, 0.25, 9])], f16()) == [0, 0.5, 3]
    assert compute(Op.RSQRT, [f32([0.25, 4, 0, inf])], f32()) == [2, 0.5, inf, 0]


@pytest.mark.parametrize("type", [Op.LOG, Op.SQRT, Op.RSQRT], ids=lambda type: type.name)
def test_negative_numbers_have_no_result(compute, type):
    (result,) = compute(type, [f32([-1])], f32())
    assert isnan(result)


def test_rsqrt_quantized(compute):
    # real: -1, 0, 1, 4, 16; 1, 1/2 and 1/4 in steps of 1/8
    assert compute(Op.RSQRT, [qu8([9, 10, 11, 14, 26], 1, 10)], qu8(None, 1 / 8, 3)) == [
        255,
        255,
        11,
        7,
        5,
    ]
    # 160 * float32(0.1) is 16 in float32, and more in float64, which leaves less than 2.5.
    assert compute(Op.RSQRT, [qu8([160, 159], 0.1)], qu8(None, 0.1)) == [3, 3]
    assert compute(Op.RSQRT, [qu8([161, 162], 0.1)], qu8(None, 0.1)) == [2, 2]
    # real: 0, 1/4, 4; 2 and 1/2 in steps of 1/2
    assert compute(Op.RSQRT, [qs8([-1, 0, 15], 1 / 4, -1)], qs8(None, 1 / 2, -128)) == [
        127,
        -124,
        -127,
    ]
