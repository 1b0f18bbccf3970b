"""The error of a quantized model against its float model."""

import math

import numpy as np
import pytest

from nnapi_shim import Model, NnapiError
from nnapi_shim.tools.quantization_error import quantization_error

STEP = 1 / 16


def float_model(size: int = 6) -> Model:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, size], name="x")
        y = model.operation("MUL", [x, np.float32([2]), 0], name="product")
        model.outputs(model.relu1(y, name="clamped"))
    return model


def quantized_model(scale: float = STEP) -> Model:
    """2 x, in steps of `scale`, with QUANTIZE before; 255 steps are the largest value."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 6], name="x")
        q = model.operation("QUANTIZE", [x], output="TENSOR_QUANT8_ASYMM", scale=1 / 128)
        two = model.constant(np.uint8([2]), "TENSOR_QUANT8_ASYMM", 1.0)
        y = model.operation("MUL", [q, two, 0], scale=scale, name="product")
        model.outputs(model.relu1(y, name="clamped"))
    return model


def test_each_operation_in_real_numbers() -> None:
    """Rounding to steps is the whole error; operations without a counterpart do not count."""
    result = quantization_error(quantized_model(), float_model(), device="nnapi-reference")
    assert [(item.number, item.float_number, item.name) for item in result.operations] == [
        (1, 0, "MUL"),
        (2, 1, "RELU1"),
    ]
    product = result.operations[0]
    assert product.output == "product"
    assert 0 < product.largest <= STEP / 2 + 2 / 256 + 1e-6
    assert product.steps == pytest.approx(product.largest / STEP)
    assert product.mean <= product.largest
    assert 20 < product.sqnr_db < 60
    assert product.clipped == 0
    assert (result.unmatched, result.float_unmatched) == ((), ())


def test_finer_steps_have_a_smaller_error() -> None:
    coarse, fine = (
        quantization_error(quantized_model(scale), float_model()).operations[0]
        for scale in (1 / 8, 1 / 64)
    )
    assert fine.largest < coarse.largest
    assert fine.sqnr_db > coarse.sqnr_db + 6


def test_values_outside_of_the_range_are_clipped(tmp_path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.float32([[0, 0.5, 1, 1.5, 4, 4]]))
    (product, _) = quantization_error(quantized_model(1 / 64), float_model(), [path]).operations
    assert product.clipped == 2 / 6  # 8 is more than 255 steps
    assert product.largest == pytest.approx(8 - 255 / 64)


def test_a_model_against_itself_has_no_error() -> None:
    result = quantization_error(float_model(), float_model())
    assert {item.sqnr_db for item in result.operations} == {math.inf}
    assert {item.steps for item in result.operations} == {None}


def test_models_that_cannot_be_compared() -> None:
    with pytest.raises(NnapiError, match="they must be equal"):
        quantization_error(quantized_model(), float_model(7))
    with Model() as other:
        other.outputs(other.neg(other.input("TENSOR_FLOAT32", [1, 6])))
    with pytest.raises(NnapiError, match="no operation"):
        quantization_error(quantized_model(), other)


def test_a_quantized_model_as_float_model() -> None:
    with pytest.raises(NnapiError, match="is quantized; the model after --float must") as caught:
        quantization_error(quantized_model(), quantized_model())
    assert caught.value.rule == "tool.quantization.not-float"


def test_the_models_in_the_wrong_order() -> None:
    with pytest.raises(NnapiError, match="has no quantized operand; the quantized model comes"):
        quantization_error(float_model(), quantized_model())
