"""Which values of a quantized and a float model are compared when only one fuses an activation."""

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.tools.quantization_error import QuantizationErrors, quantization_error

QUANTIZED = "TENSOR_QUANT8_ASYMM_SIGNED"


def float_model(form: str, activation: str = "RELU6") -> Model:
    """4 x - 2, of which half is below 0 for x from 0 to 1, and its activation in a form."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 256])
        y = model.operation("MUL", [x, np.float32([4]), 0])
        code = 3 if form == "fused" else 0
        y = model.operation("SUB", [y, np.float32([2]), code])
        model.outputs(model.operation(activation, [y]) if form == "separate" else y)
    return model


def quantized_model(form: str, zero_point: int = 0) -> Model:
    """The same in steps of 1/32, as operations 1, 2 and 3."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 256])
        y = model.operation("QUANTIZE", [x], output=QUANTIZED, scale=1 / 256, zero_point=-128)
        four, two = (model.constant(np.int8([n]), QUANTIZED, 1.0) for n in (4, 2))
        y = model.operation("MUL", [y, four, 0], scale=1 / 32, zero_point=-128)
        code = 3 if form == "fused" else 0
        y = model.operation("SUB", [y, two, code], scale=1 / 32, zero_point=zero_point)
        model.outputs(model.operation("RELU6", [y]) if form == "separate" else y)
    return model


def pairs(actual: QuantizationErrors) -> list[tuple[int, int, str]]:
    assert min(item.sqnr_db for item in actual.operations) > 25, "values that differ in meaning"
    return [(item.number, item.float_number, item.name) for item in actual.operations]


@pytest.mark.parametrize(
    ("form", "float_form", "last"),
    [
        ("fused", "fused", [(2, 1, "SUB")]),
        ("fused", "separate", [(2, 2, "SUB")]),
        ("separate", "fused", [(3, 1, "RELU6")]),
        ("separate", "separate", [(2, 1, "SUB"), (3, 2, "RELU6")]),
        ("none", "none", [(2, 1, "SUB")]),
    ],
)
def test_values_after_the_activation_are_compared(
    form: str, float_form: str, last: list[tuple[int, int, str]]
) -> None:
    actual = quantization_error(quantized_model(form), float_model(float_form))
    assert pairs(actual) == [(1, 0, "MUL"), *last]
    assert (actual.unmatched, actual.float_unmatched) == ((), ())


def test_a_range_from_zero_is_an_activation() -> None:
    """Quantizers leave out a RELU that the range of the result makes."""
    actual = quantization_error(quantized_model("none", -128), float_model("separate"))
    assert pairs(actual) == [(1, 0, "MUL"), (2, 2, "SUB")]
    assert actual.float_unmatched == ()


def test_activations_of_one_model_only() -> None:
    """A value before an activation is not compared with one after it."""
    actual = quantization_error(quantized_model("fused"), float_model("none"))
    assert pairs(actual) == [(1, 0, "MUL")]
    assert (actual.unmatched, actual.float_unmatched) == (("RELU6 of 2 SUB",), ())
    actual = quantization_error(quantized_model("none"), float_model("separate", "RELU1"))
    assert pairs(actual) == [(1, 0, "MUL"), (2, 1, "SUB")]
    assert actual.float_unmatched == ("2 RELU1",)


def test_dimensions_of_size_1_do_not_matter() -> None:
    def mean(keeps: int, size: int = 2) -> Model:
        with Model() as model:
            x = model.input("TENSOR_FLOAT32", [1, 2, size])
            model.outputs(model.operation("MEAN", [x, np.int32([1]), keeps], name="mean"))
        return model

    (item,) = quantization_error(mean(0), mean(1)).operations
    assert item.largest == 0


def test_values_of_other_dimensions_are_named() -> None:
    def transposed(order: list[int]) -> Model:
        with Model() as model:
            x = model.input("TENSOR_FLOAT32", [2, 3, 4])
            y = model.operation("TRANSPOSE", [x, np.int32(order)], name="y")
            model.outputs(y)
        return model

    actual = quantization_error(transposed([0, 1, 2]), transposed([1, 0, 2]))
    assert actual.operations == ()
    assert actual.left_out == ("0 TRANSPOSE, y: [2, 3, 4] and [3, 2, 4]",)
