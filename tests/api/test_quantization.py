"""Quantizing in Python: the same numbers as the operations make."""

import numpy as np
import pytest

from nnapi_shim import Model, NnapiError, OperandType, dequantize, quantization_of, quantize
from nnapi_shim.hal.quantization import QUANTIZED_RANGE, SYMMETRIC

T = OperandType
EDGES = [0.49999997, 0.5, -0.5, 1.5, -1.5, 2.5, 1e9, -1e9, np.inf, -np.inf, np.nan, 0.0, -0.0]


@pytest.mark.parametrize("kind", ["TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED"])
@pytest.mark.parametrize(("scale", "zero_point"), [(1.0, 0), (0.1, 3), (0.003, 120)])
def test_as_the_operations_do(device: str, kind: str, scale: float, zero_point: int) -> None:
    random = np.random.default_rng(1).normal(scale=scale * 100, size=200)
    values = np.concatenate([random, np.multiply(EDGES, scale)]).astype(np.float32)
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [values.size])
        q = model.quantize(x, output=kind, scale=scale, zero_point=zero_point)
        model.outputs(q, model.dequantize(q, output="TENSOR_FLOAT32"))
    quantized, real = model.compile(device).run(values)
    ours = quantize(values, scale, zero_point, kind)
    np.testing.assert_array_equal(ours, quantized)
    assert ours.dtype == quantized.dtype
    np.testing.assert_array_equal(dequantize(ours, scale, zero_point), real)


def test_per_channel(device: str) -> None:
    values = np.random.default_rng(2).normal(size=(2, 3, 4)).astype(np.float32)
    limits = np.abs(values).max(axis=(0, 2))
    scales, zero_point = quantization_of(-limits, limits)
    assert (len(scales), zero_point) == (3, 0)
    quantized = quantize(values, scales, channel_dim=1)
    assert quantized.dtype == np.int8
    assert np.abs(quantized).max(axis=(0, 2)).tolist() == [127, 127, 127]
    real = dequantize(quantized, scales, channel_dim=1)
    np.testing.assert_allclose(real, values, atol=max(scales) / 2 * 1.0001)
    with Model() as model:
        constant = model.constant(quantized, scales=scales, channel_dim=1)
        model.input("TENSOR_FLOAT32", [1])
        model.outputs(model.dequantize(constant, output="TENSOR_FLOAT32"))
    np.testing.assert_array_equal(model.compile(device).run([0]), real)


@pytest.mark.parametrize("kind", [k for k in QUANTIZED_RANGE if "CHANNEL" not in k.name])
@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, 6), (-3, -1), (2, 5), (-0.1, 100)])
def test_a_range_is_held(kind: OperandType, low: float, high: float) -> None:
    scale, zero_point = quantization_of(low, high, kind)
    assert scale == np.float32(scale)
    values = np.linspace(low, high, 101)
    real = dequantize(quantize(values, scale, zero_point, kind), scale, zero_point)
    np.testing.assert_allclose(real, values, atol=scale * 0.51)
    assert dequantize([zero_point], scale, zero_point) == [0]
    assert zero_point == 0 or kind not in SYMMETRIC
    Model().input(kind, [2], scale, zero_point)


def test_a_range_of_nothing_but_0() -> None:
    assert quantization_of(0, 0) == (1.0, 0)
    assert quantization_of([0.0, -1.0], [0.0, 1.0]).scales[0] == 1.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: quantize([1.0], 0.0), "scale is 0.0"),
        (lambda: quantize([1.0], float("nan")), "scale is nan"),
        (lambda: quantize([1.0], 1.0, 256), "zero_point is 256; .* is 0 to 255"),
        (lambda: quantize([1.0], 1.0, 1, "TENSOR_QUANT8_SYMM"), "zero_point is 1; .* is 0"),
        (lambda: quantize([1.0], 1.0, 0, "TENSOR_FLOAT32"), "TENSOR_FLOAT32 is not quantized"),
        (lambda: quantize([1.0], 1.0, 0, "INT8"), "did you mean TENSOR_QUANT8_ASYMM_SIGNED"),
        (lambda: quantize([1.0], 1.0, 0, np.uint8), r"did you mean TENSOR_QUANT8_ASYMM\?"),
        (lambda: quantization_of(0, 1, "QUANT8_SYMM"), "did you mean TENSOR_QUANT8_SYMM"),
        (lambda: quantize([[1.0]], [1.0, 2.0]), r"2 scales are given for dimension 0 of \[1, 1\]"),
        (lambda: quantize(["a"], 1.0), "cannot be quantized"),
        (lambda: dequantize([1.5], 1.0), "quantized numbers are whole"),
        (lambda: quantization_of(1, 0), "it must go up"),
        (lambda: quantization_of(0, float("inf")), "and be finite"),
        (lambda: quantization_of([0.0], [1.0], "TENSOR_QUANT8_ASYMM"), "needs two numbers"),
    ],
)
def test_what_is_refused(call, words: str) -> None:
    with pytest.raises(NnapiError, match=f"BAD_DATA: .*{words}"):
        call()
