"""QUANTIZE DEQUANTIZE by hand."""

from nnapi_shim.hal.enums import OperationType as Op
from tests.single import f16, f32, qc8, qs8, qsym8, qu8


def test_quantize_rounds_halves_away_from_zero_and_saturates(compute):
    values = [0.25, -0.25, 0.74, 1000, -1000]
    assert compute(Op.QUANTIZE, [f32(values)], qu8(None, 0.5, 10)) == [11, 9, 11, 255, 0]
    assert compute(Op.QUANTIZE, [f32(values)], qs8(None, 0.5, -1)) == [0, -2, 0, 127, -128]
    assert compute(Op.QUANTIZE, [f16(values[:2])], qu8(None, 0.5, 10)) == [11, 9]


def test_quantize_divides_in_float32(compute):
    # 1 / float32(0.4) is 2.5 in float32, and less in float64.
    assert compute(Op.QUANTIZE, [f32([1, -1])], qs8(None, 0.4, 0)) == [3, -3]


def test_dequantize(compute):
    assert compute(Op.DEQUANTIZE, [qu8([0, 128, 255], 0.5, 128)], f32()) == [-64, 0, 63.5]
    assert compute(Op.DEQUANTIZE, [qs8([-128, 127], 0.5, -1)], f16()) == [-63.5, 64]
    assert compute(Op.DEQUANTIZE, [qsym8([-128, 127], 2)], f32()) == [-256, 254]


def test_dequantize_per_channel(compute):
    raw = [[1, 2], [3, 4]]
    assert compute(Op.DEQUANTIZE, [qc8(raw, [0.5, 2], 0)], f32()) == [[0.5, 1], [6, 8]]
    assert compute(Op.DEQUANTIZE, [qc8(raw, [0.5, 2], 1)], f32()) == [[0.5, 4], [1.5, 8]]
