"""What is given in a wrong type, or with a name that is not quite right, is refused in words."""

from pathlib import Path

import numpy as np
import pytest

import nnapi_shim
from nnapi_shim import Compilation, Execution, Model, NnapiError, OperandType, ResultCode

F32 = "TENSOR_FLOAT32"


@pytest.fixture
def model():
    """Unfinished; operand 0 is an input."""
    model = Model()
    model.input(F32, [2, 2])
    return model


@pytest.fixture
def finished(model):
    model.outputs(model.operation("RELU", [model._inputs[0]]))
    model.finish()
    return model


@pytest.fixture
def execution(finished):
    return Execution(Compilation(finished))


WRONG = {
    "dimensions": (lambda m: m.input(F32, 3), "dimensions is 3 (int); it must be a list of sizes"),
    "a text as dimensions": (lambda m: m.input(F32, "ab"), "dimensions is 'ab' (str); "),
    "a size": (lambda m: m.input(F32, [2.5]), "dimension 0 is 2.5 (float); it must be a size"),
    "a scale": (lambda m: m.input(F32, [2], "a"), "scale is 'a' (str); it must be a number"),
    "a zero point": (lambda m: m.input(F32, [2], 1, 1.5), "zero_point is 1.5 (float); "),
    "inputs": (lambda m: m.operation("RELU", m._inputs[0]), "inputs is <operand 0 "),
    "no inputs": (lambda m: m.operation("RELU", 3), "inputs is 3 (int); it must be a list of"),
    "an output count": (
        lambda m: m.operation("SPLIT", [0, 0, 2], output_count="2"),
        "output_count is '2' (str); it must be an integer from 1",
    ),
    "a list of outputs": (lambda m: m.outputs([m._inputs[0]]), "outputs(a, b)"),
    "an operand": (lambda m: m.outputs("x"), "an operand is 'x' (str); it must be an Operand"),
    "operands": (lambda m: m.add_operation("RELU", 0, [0]), "the list of operands is 0 (int); "),
    "scales": (lambda m: m.constant(np.zeros(2, np.int8), scales=1.0), "scales is 1.0 (float); "),
    "text as scales": (lambda m: m.constant(np.zeros(2, np.int8), scales="ab"), "scales is 'ab'"),
    "a channel": (
        lambda m: m.constant(np.zeros(2, np.int8), scales=[1, 1], channel_dim="0"),
        "channel_dim is '0' (str); it must be an integer from 0",
    ),
    "a model value": (
        lambda m: m.set_operand_value_from_model(0, 3),
        "model is 3 (int); it must be a nnapi_shim.Model",
    ),
    "a file": (
        lambda m: Compilation("model.tflite"),
        "model is 'model.tflite' (str); it must be a nnapi_shim.Model; "
        "nnapi_shim.load reads a file",
    ),
    "a path": (lambda m: Compilation(Path("m")), "nnapi_shim.load reads a file"),
    "no model": (lambda m: Compilation(None), "model is None (NoneType); it must be"),
    "a model for an execution": (lambda m: Execution(m), "compilation is of type Model; it must"),
    "lint": (lambda m: nnapi_shim.lint("x"), "model is 'x' (str)"),
    "compliance": (lambda m: nnapi_shim.compliance("x"), "model is 'x' (str)"),
    "devices": (lambda m: m.supported_operations(5), "devices is 5 (int); it must be the name of"),
    "a device": (lambda m: m.supported_operations([5]), "a device is 5 (int); it must be a name"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_types(model, name):
    call, words = WRONG[name]
    with pytest.raises(TypeError) as caught:
        call(model)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"timeout_ns": "x"}, "timeout_ns is 'x' (str); it must be an integer from 0"),
        ({"timeout_ns": 1.5}, "timeout_ns is 1.5 (float)"),
        ({"cache": "/tmp"}, "cache is '/tmp' (str); it must be a folder and a token"),
        ({"cache": ("/tmp", "a" * 32)}, "it must be a folder and a token of 32 bytes"),
    ],
)
def test_options_of_a_compilation(finished, options, words):
    with pytest.raises(TypeError) as caught:
        Compilation(finished, "nnapi-cpu", **options)
    assert words in str(caught.value)


def test_arguments_of_an_execution(execution):
    for call, words in (
        (lambda: execution.set_input("0", [[1, 2], [3, 4]]), "the index of an input is '0' (str)"),
        (
            lambda: execution.set_output(None, np.zeros((2, 2), np.float32)),
            "the index of an output",
        ),
        (lambda: execution.set_output(0, [1, 2]), "output 0 is [1, 2] (list); it must be an array"),
        (lambda: execution.set_timeout("x"), "duration_ns is 'x' (str)"),
        (lambda: execution.set_loop_timeout(0.5), "duration_ns is 0.5 (float)"),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert words in str(caught.value)


VALUES = {
    "a negative size": (lambda m: m.input(F32, [-1, 2]), "dimension 0 is -1; it must be a size"),
    "a negative channel": (
        lambda m: m.constant(np.zeros(2, np.int8), scales=[1, 1], channel_dim=-1),
        "channel_dim is -1; it must be an integer from 0",
    ),
    "text": (lambda m: m.operation("ADD", [0, 0, "NONE"]), "which 'NONE' (str) is; allowed are"),
    "unequal lists": (
        lambda m: m.constant([[1], [1, 2]]),
        "a value is [[1], [1, 2]] (list), which",
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_wrong_values(model, name):
    call, words = VALUES[name]
    with pytest.raises(NnapiError) as caught:
        call(model)
    assert caught.value.code is ResultCode.BAD_DATA
    assert words in caught.value.message


def test_times_are_not_negative(finished, execution):
    for call in (
        lambda: Compilation(finished, "nnapi-cpu", timeout_ns=-1),
        lambda: execution.set_loop_timeout(-5),
    ):
        with pytest.raises(NnapiError, match="it must be an integer from 0"):
            call()


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ("conv2d", "CONV_2D"),
        ("Conv2D", "CONV_2D"),
        ("softmax", "SOFTMAX"),
        ("FullyConnected", "FULLY_CONNECTED"),
        ("CONVOLUTION_2D", "CONV_2D"),
        ("SOFTMAXX", "SOFTMAX"),
        ("MAX_POOL", "MAX_POOL_2D"),
    ],
)
def test_near_misses_of_operations(model, arguments, meant):
    with pytest.raises(
        NnapiError, match=f"there is no OperationType '{arguments}'; did you mean .*"
    ) as e:
        model.operation(arguments, [])
    assert meant in e.value.message


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ("FLOAT32_TENSOR", "TENSOR_FLOAT32?"),
        ("tensor_float32", "TENSOR_FLOAT32?"),
        ("Float32", "TENSOR_FLOAT32?"),
        ("float64", "TENSOR_FLOAT32?"),
        (np.float64, "TENSOR_FLOAT32?"),
        ("TENSOR_QUANT_8_ASYMM", "TENSOR_QUANT8_ASYMM?"),
    ],
)
def test_near_misses_of_types(model, arguments, meant):
    with pytest.raises(NnapiError) as caught:
        model.input(arguments, [2])
    assert caught.value.message.endswith(f"did you mean {meant}")


def test_near_misses_of_other_names(finished):
    with pytest.raises(NnapiError, match="did you mean nnapi-cpu"):
        Compilation(finished, "nnapi_cpu")
    with pytest.raises(AttributeError, match=r"did you mean ANeuralNetworksModel_create\b"):
        nnapi_shim.capi.ANeuralNetworksModel_creat  # noqa: B018
    with pytest.raises(AttributeError) as caught:
        nnapi_shim.Modle  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("Modle", nnapi_shim)


@pytest.mark.parametrize("name", ["ADD", "RELU", "CONV_2D", "CONCATENATION", "SOFTMAX"])
def test_an_input_that_is_needed_is_omitted(name: str) -> None:
    model = Model()
    x = model.input(F32, [1, 2, 2, 3])
    inputs = {
        "ADD": [x, None, 0],
        "RELU": [None],
        "CONV_2D": [None, x, model.input(F32, [1]), 1, 1, 1, 0],
        "CONCATENATION": [x, None, 0],
        "SOFTMAX": [None, 1.0],
    }[name]
    with pytest.raises(NnapiError, match=f"is omitted; {name} needs it"):
        model.operation(name, inputs)


@pytest.mark.parametrize("size", [-1, 1 << 32, 1 << 64])
def test_sizes_that_are_no_uint32(size):
    """Neither from an array of numpy's, nor behind an unknown dimension, nor past this face."""
    for sizes in ([size], [0, size], [2, size, 2]):
        with pytest.raises(NnapiError) as caught:
            Model().add_operand("TENSOR_QUANT8_ASYMM", sizes, 1.0)
        assert caught.value.code is ResultCode.BAD_DATA
        with pytest.raises(NnapiError) as caught:
            Model().runtime.add_operand(OperandType.TENSOR_OEM_BYTE, sizes, len(sizes), 0.0, 0)
        assert caught.value.code is ResultCode.BAD_DATA and str(size) in caught.value.message


@pytest.mark.parametrize("zero_point", [1 << 31, -(1 << 31) - 1])
def test_zero_points_that_are_no_int32(zero_point):
    for type in ("TENSOR_INT32", "TENSOR_OEM_BYTE", "TENSOR_QUANT8_ASYMM"):
        with pytest.raises(NnapiError) as caught:
            Model().add_operand(type, [2], 1.0, zero_point)
        assert caught.value.code is ResultCode.BAD_DATA
        assert f"zeroPoint is {zero_point}" in caught.value.message
