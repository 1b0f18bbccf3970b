"""QUANTIZE DEQUANTIZE CAST by hand."""

from math import inf, nan

from nnapi_shim.hal.enums import OperationType as Op
from tests.single import bool8, f16, f32, i32, q16, qc8, qs8, qsym8, qu8


def test_quantize_rounds_halves_away_from_zero_and_saturates(compute):
    values = [0.25, -0.25, 0.74, 1000, -1000]
    assert compute(Op.QUANTIZE, [f32(values)], qu8(None, 0.5, 10)) == [11, 9, 11, 255, 0]
    assert compute(Op.QUANTIZE, [f32(values)], qs8(None, 0.5, -1)) == [0, -2, 0, 127, -128]
    assert compute(Op.QUANTIZE, [f16(values[:2])], qu8(None, 0.5, 10)) == [11, 9]


def test_quantize_divides_in_float32(compute):
    # 1 / float32(0.4) is 2.5 in float32, and less in float64.
    assert compute(Op.QUANTIZE, [f32([1, -1])], qs8(None, 0.4, 0)) == [3, -3]


def test_quantize_makes_the_largest_number_of_nan(compute):
    assert compute(Op.QUANTIZE, [f32([nan, inf])], qu8(None, 0.5, 10)) == [255, 255]
    assert compute(Op.QUANTIZE, [f16([nan, -inf])], qs8(None, 0.5, -1)) == [127, -128]


def test_dequantize(compute):
    assert compute(Op.DEQUANTIZE, [qu8([0, 128, 255], 0.5, 128)], f32()) == [-64, 0, 63.5]
    assert compute(Op.DEQUANTIZE, [qs8([-128, 127], 0.5, -1)], f16()) == [-63.5, 64]
    assert compute(Op.DEQUANTIZE, [qsym8([-128, 127], 2)], f32()) == [-256, 254]


def test_dequantize_per_channel(compute):
    raw = [[1, 2], [3, 4]]
    assert compute(Op.DEQUANTIZE, [qc8(raw, [0.5, 2], 0)], f32()) == [[0.5, 1], [6, 8]]
    assert compute(Op.DEQUANTIZE, [qc8(raw, [0.5, 2], 1)], f32()) == [[0.5, 4], [1.5, 8]]


def test_cast_is_toward_zero_and_saturates(compute):
    values = [1.9, -1.9, 255.9, 256, -0.5, 3e9, -3e9, inf, -inf, nan]
    assert compute(Op.CAST, [f32(values)], qu8()) == [1, 0, 255, 255, 0, 255, 0, 255, 0, 0]
    ends = [2**31 - 1, -(2**31)]
    assert compute(Op.CAST, [f32(values)], i32()) == [1, -1, 255, 256, 0, *ends, *ends, 0]
    assert compute(Op.CAST, [i32([-1, 7, 300])], qu8()) == [0, 7, 255]


def test_cast_to_floats(compute):
    assert compute(Op.CAST, [i32([2**24 + 1, -3])], f32()) == [2**24, -3]
    assert compute(Op.CAST, [i32([2049, 65519, 65520])], f16()) == [2048, 65504, inf]
    assert compute(Op.CAST, [f32([1 + 2**-11, 1 + 3 * 2**-11])], f16()) == [1, 1 + 2**-9]


def test_cast_ignores_scales(compute):
    assert compute(Op.CAST, [qu8([0, 7, 255], 0.5, 100)], f32()) == [0, 7, 255]
    assert compute(Op.CAST, [qu8([0, 7, 255], 0.5, 100)], qu8(None, 0.25, 3)) == [0, 7, 255]
    assert compute(Op.CAST, [qs8([-128, 7], 0.5, 100)], qs8(None, 0.25, 3)) == [-128, 7]
    assert compute(Op.CAST, [q16([0, 65535], 0.5)], q16(None, 0.25)) == [0, 65535]
    assert compute(Op.CAST, [bool8([0, 2])], bool8()) == [0, 2]
