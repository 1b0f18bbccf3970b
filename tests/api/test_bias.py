"""The scale of a bias that is an array: that of the input times that of the filter."""

from typing import Any

import numpy as np
import pytest

from nnapi_shim import Model, NnapiError, Operand
from nnapi_shim.operations import registry

SIGNED, UNSIGNED = "TENSOR_QUANT8_ASYMM_SIGNED", "TENSOR_QUANT8_ASYMM"
X_SCALE, FILTER_SCALE = 0.1, 0.7
PRODUCT = float(np.float32(np.float32(X_SCALE) * np.float64(np.float32(FILTER_SCALE))))
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D", "GROUPED_CONV_2D", "TRANSPOSE_CONV_2D")
OUTPUT = {"scale": 0.5, "zero_point": 1}


def add(model: Model, name: str, x: Operand, filter: Operand, bias: Any) -> Operand:
    if name == "FULLY_CONNECTED":
        return model.fully_connected(x, filter, bias, **OUTPUT)
    options: dict[str, Any] = {"padding": "SAME", **OUTPUT}
    if name == "GROUPED_CONV_2D":
        options["num_groups"] = 1
    elif name == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = 1
    elif name == "TRANSPOSE_CONV_2D":
        options |= {"output_shape": [1, 3, 3, 2], "nchw": False}
    method = getattr(model, name.lower())
    result: Operand = method(x, filter, bias, **options)
    return result


def operands(model: Model, name: str, type: str, per_channel: bool) -> tuple[Operand, Operand]:
    shape = (2, 2) if name == "FULLY_CONNECTED" else (1, 3, 3, 2)
    x = model.input(type, shape, X_SCALE, 2, name="x")
    dimensions = {"FULLY_CONNECTED": (2, 2), "DEPTHWISE_CONV_2D": (1, 2, 2, 2)}.get(
        name, (2, 2, 2, 2)
    )
    if per_channel:
        channel = 3 if name == "DEPTHWISE_CONV_2D" else 0
        ones = np.ones(dimensions, np.int8)
        return x, model.constant(ones, scales=[FILTER_SCALE, 1.0], channel_dim=channel)
    elements = np.int8 if type == SIGNED else np.uint8
    return x, model.constant(np.ones(dimensions, elements), type, FILTER_SCALE)


def computed(name: str, type: str, per_channel: bool, bias: Any, device: str) -> tuple[Any, float]:
    with Model() as model:
        x, filter = operands(model, name, type, per_channel)
        arguments = bias(model) if callable(bias) else bias
        model.outputs(add(model, name, x, filter, arguments))
    dtype = np.int8 if type == SIGNED else np.uint8
    ramp = np.arange(np.prod(x.dimensions), dtype=dtype).reshape(x.dimensions)
    return model.compile(device).run(x=ramp), model.operations[0].named["bias"].scale


@pytest.mark.parametrize("type", [SIGNED, UNSIGNED])
@pytest.mark.parametrize(
    ("name", "per_channel"),
    [
        *((name, per_channel) for name in CONVOLUTIONS for per_channel in (False, True)),
        ("FULLY_CONNECTED", False),
    ],
)
def test_a_bias_gets_its_scale(device: str, name: str, type: str, per_channel: bool) -> None:
    values = np.array([30, -40], np.int32)
    expected = 0.0 if per_channel else PRODUCT
    by_hand, _ = computed(
        name,
        type,
        per_channel,
        lambda model: model.constant(values, "TENSOR_INT32", expected),
        device,
    )
    for bias in (values, values.astype(np.int64), values.tolist()):
        result, scale = computed(name, type, per_channel, bias, device)
        assert scale == expected
        np.testing.assert_array_equal(result, by_hand)
    zero, _ = computed(name, type, per_channel, [0, 0], device)
    assert not np.array_equal(zero, by_hand)


def test_biases_of_quantized_16bit_lstm() -> None:
    """Its input has the scale 1/128."""
    with Model() as model:
        operation = next(it for it in registry() if it.type.name == "QUANTIZED_16BIT_LSTM")
        named: dict[str, Any] = {
            name: model.constant(np.full((4, 4), 130, np.uint8), scale=0.03, zero_point=128)
            for name in operation.forms[0].inputs.names
            if name.endswith("weights")
        }
        named |= dict.fromkeys(operation.products, np.arange(4, dtype=np.int32))
        named["prev_cell_state"] = model.input("TENSOR_QUANT16_SYMM", [1, 4], 2.0**-11)
        named["prev_output"] = model.input(UNSIGNED, [1, 4], 1 / 128, 128)
        x = model.input(UNSIGNED, [1, 4], 1 / 128, 128)
        model.outputs(*model.quantized_16bit_lstm(x, **named))
    for name in operation.products:
        assert model.operations[0].named[name].scale == np.float32(0.03) / 128


def test_float_operations_keep_a_bias_without_a_scale() -> None:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [2, 2])
        y = model.fully_connected(x, np.ones((2, 2), np.float32), np.zeros(2, np.float32))
        model.outputs(y)
    assert model.operations[0].named["bias"].scale == 0


def test_floats_as_a_quantized_bias_name_the_scale() -> None:
    with Model() as model:
        x, filter = operands(model, "CONV_2D", SIGNED, False)
        words = (
            r"CONV_2D: floats \(float64\) are given for TENSOR_INT32, .*"
            r"numpy.round\(array / 0.07\).astype\('int32'\)"
        )
        with pytest.raises(NnapiError, match=words):
            add(model, "CONV_2D", x, filter, np.array([0.5, 1.5]))
        model.outputs(add(model, "CONV_2D", x, filter, [1, 2]))


def test_a_constant_of_the_program_keeps_its_scale() -> None:
    with Model() as model:
        x, filter = operands(model, "CONV_2D", SIGNED, False)
        bias = model.constant(np.zeros(2, np.int32), scale=0.5)
        with pytest.raises(NnapiError, match=r"bias .* has scale 0.5; it must be the product"):
            add(model, "CONV_2D", x, filter, bias)
        model.outputs(add(model, "CONV_2D", x, filter, [1, 2]))
