"""Model: what follows from arrays and names, and what is refused."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nnapi_shim
from nnapi_shim import FuseCode, Model, NnapiError, PaddingCode, ResultCode
from nnapi_shim import OperandType as T
from nnapi_shim.hal.enums import OperandLifeTime

F32 = "TENSOR_FLOAT32"


@pytest.fixture
def model() -> Model:
    return Model()


def refused(
    code: ResultCode, words: str, call: Callable[..., Any], *arguments: Any, **named: Any
) -> None:
    """Check that a call raises an NnapiError with this code, whose message holds these words."""
    with pytest.raises(NnapiError) as caught:
        call(*arguments, **named)
    assert caught.value.code is code
    assert words in caught.value.message


# What follows from what is given


def test_output_follows_from_the_inputs(model: Model) -> None:
    x = model.input(F32, [2, 1, 3])
    y = model.operation("ADD", [x, np.zeros((4, 1), np.float32), FuseCode.NONE])
    assert (y.type, y.dimensions, y.scale, y.zero_point) == (T.TENSOR_FLOAT32, (2, 4, 3), 0, 0)


def test_dimensions_of_an_image(model: Model) -> None:
    image = model.input(F32, [1, 8, 8, 3])
    filter = np.zeros((16, 3, 3, 3), np.float32)
    same, one = PaddingCode.SAME, 1
    y = model.operation("CONV_2D", [image, filter, np.zeros(16), same, 2, 2, FuseCode.RELU])
    assert y.dimensions == (1, 4, 4, 16)
    nchw = model.operation(
        "CONV_2D", [image, np.zeros((1, 1, 1, 8)), [0.5], same, one, one, FuseCode.NONE, True]
    )
    assert nchw.dimensions == (1, 1, 8, 3)


def test_unknown_dimensions_stay_unknown(model: Model) -> None:
    x = model.input(F32, [None, 3])
    assert x.dimensions == (0, 3)
    assert model.operation("RELU", [x]).dimensions == ()
    assert model.operation("RELU", [x], dimensions=[None, 3]).dimensions == (0, 3)
    assert str(x) == "TENSOR_FLOAT32[0, 3]"


@pytest.mark.parametrize(("tensor", "beta"), [(F32, T.FLOAT32), ("TENSOR_FLOAT16", T.FLOAT16)])
@pytest.mark.parametrize("number", [1, 0.5, np.float64(0.5)])
def test_a_number_becomes_the_scalar_that_is_wanted(
    model: Model, tensor: str, beta: T, number: float
) -> None:
    x = model.input(tensor, [2])
    model.outputs(model.operation("SOFTMAX", [x, number]))
    model.finish()
    assert model.runtime.hal is not None
    scalar = model.runtime.hal.main.operands[1]
    assert (scalar.type, scalar.lifetime) == (beta, OperandLifeTime.CONSTANT_COPY)
    contents = np.frombuffer(model.runtime.hal.operand_values, f"f{scalar.location.length}")
    assert contents.tolist() == [number]


def test_a_list_becomes_the_tensor_that_is_wanted(model: Model) -> None:
    x = model.input("TENSOR_FLOAT16", [4])
    assert model.operation("RESHAPE", [x, [2, -1]]).dimensions == (2, 2)
    assert model.operation("MUL", [x, [1, 2, 3, 4], 0]).type is T.TENSOR_FLOAT16


def test_constants(model: Model) -> None:
    assert str(model.constant(3)) == "INT32"
    assert str(model.constant(3, "FLOAT16")) == "FLOAT16"
    assert str(model.constant([[1, 2]])) == "TENSOR_INT32[1, 2]"
    byte = model.constant(np.zeros(4, np.uint8), scale=0.1, zero_point=5)
    assert (byte.type, byte.scale, byte.zero_point) == (
        T.TENSOR_QUANT8_ASYMM,
        float(np.float32(0.1)),
        5,
    )
    channels = model.constant(np.zeros((2, 3), np.int8), scales=[0.5, 0.25, 1], channel_dim=1)
    assert channels.type is T.TENSOR_QUANT8_SYMM_PER_CHANNEL
    assert channels.channel_quant == ((0.5, 0.25, 1.0), 1)


def test_quantization_of_outputs(model: Model) -> None:
    x = model.input("TENSOR_QUANT8_ASYMM", [1, 2, 2, 1], 0.5, 128)
    pooled = model.operation("MAX_POOL_2D", [x, PaddingCode.VALID, 1, 1, 2, 2, FuseCode.NONE])
    assert (pooled.dimensions, pooled.scale, pooled.zero_point) == ((1, 1, 1, 1), 0.5, 128)
    logistic = model.operation("LOGISTIC", [x])
    assert (logistic.scale, logistic.zero_point) == (1 / 256, 0)
    sum = model.operation("ADD", [x, x, FuseCode.NONE], scale=1.0, zero_point=3)
    assert (sum.scale, sum.zero_point) == (1, 3)
    refused(ResultCode.BAD_DATA, "it needs `scale`", model.operation, "ADD", [x, x, 0])
    refused(ResultCode.OP_FAILED, "declares scale 2", model.operation, "LOGISTIC", [x], scale=2)


def test_output_with_a_choice_of_types(model: Model) -> None:
    x = model.input(F32, [2])
    words = "TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED; `output` says which"
    refused(ResultCode.BAD_DATA, words, model.operation, "QUANTIZE", [x], scale=1)
    words = "the output cannot be BOOL; with these inputs it is TENSOR_QUANT8_ASYMM or"
    refused(ResultCode.BAD_DATA, words, model.operation, "QUANTIZE", [x], scale=1, output="BOOL")
    y = model.operation("QUANTIZE", [x], output="TENSOR_QUANT8_ASYMM_SIGNED", scale=1)
    assert y.type is T.TENSOR_QUANT8_ASYMM_SIGNED
    assert model.operation("DEQUANTIZE", [y], output=T.TENSOR_FLOAT16).type is T.TENSOR_FLOAT16


# The same, call by call


def test_both_ways_build_the_same_model(model: Model) -> None:
    x = model.input(F32, [2])
    model.outputs(model.operation("ADD", [x, np.float32([1, 2]), FuseCode.RELU]))
    model.finish()

    plain = Model()
    x = plain.add_operand(T.TENSOR_FLOAT32, [2])
    ones = plain.add_operand(T.TENSOR_FLOAT32, [2])
    plain.set_operand_value(ones, np.float32([1, 2]))
    activation = plain.add_operand(T.INT32)
    plain.set_operand_value(activation, 1)
    y = plain.add_operand(T.TENSOR_FLOAT32, [2])
    plain.add_operation(nnapi_shim.OperationType.ADD, [x, 1, activation], [y])
    plain.identify_inputs_and_outputs([0], [y])
    plain.relax_computation_float32_to_float16(False)
    plain.finish()
    assert plain.runtime.hal == model.runtime.hal


def test_large_constants_are_kept_until_finish(model: Model) -> None:
    x = model.input(F32, [1000])
    array = np.arange(1000, dtype=np.float32)
    alive = weakref.ref(array)
    model.outputs(model.operation("ADD", [x, array, FuseCode.NONE]))
    del array
    gc.collect()
    assert alive() is not None
    model.finish()
    assert alive() is None
    assert model.runtime.hal is not None
    values = np.frombuffer(model.runtime.hal.operand_values, np.float32, 1000)
    assert values.tolist() == list(range(1000))


# The block of a model


def test_the_end_of_the_block_finishes() -> None:
    with Model() as model:
        model.outputs(model.operation("RELU", [model.input(F32, [2])]))
    assert model.runtime.state == "finished"
    refused(ResultCode.BAD_STATE, "the model is finished", model.input, F32, [2])


def test_finish_within_the_block() -> None:
    with Model() as model:
        model.outputs(model.operation("RELU", [model.input(F32, [2])]))
        model.finish()
    assert model.runtime.state == "finished"


def test_a_block_that_fails_drops_the_model() -> None:
    with pytest.raises(ZeroDivisionError), Model() as model:
        alive = weakref.ref(model.runtime)
        raise ZeroDivisionError
    assert alive() is None
    refused(ResultCode.BAD_STATE, "the model is closed", model.input, F32)


def test_close(model: Model) -> None:
    alive = weakref.ref(model.runtime)
    model.close()
    model.close()
    assert alive() is None
    refused(ResultCode.BAD_STATE, "the model is closed", model.finish)


# Refusals


def test_names_that_do_not_exist(model: Model) -> None:
    words = "there is no OperandType 'TENSOR_FLOT32'; did you mean TENSOR_FLOAT32"
    refused(ResultCode.BAD_DATA, words, model.input, "TENSOR_FLOT32")
    words = "there is no OperationType 'CONV2D'; did you mean"
    refused(ResultCode.BAD_DATA, words, model.operation, "CONV2D", [])
    words = "there is no OperationType 5000; there are 107, such as ADD"
    refused(ResultCode.BAD_DATA, words, model.operation, 5000, [])


def test_refusals_say_where(model: Model) -> None:
    x = model.input(F32, [2, 3])
    refused(
        ResultCode.BAD_DATA, "ADD: 2 inputs given; allowed are 3", model.operation, "ADD", [x, x]
    )
    words = "ADD: input1 (input 1) is TENSOR_INT32; allowed here: TENSOR_FLOAT32"
    refused(ResultCode.BAD_DATA, words, model.operation, "ADD", [x, np.int32([1]), 0])
    words = "ADD: activation (input 2) is FLOAT32; allowed here: INT32"
    refused(ResultCode.BAD_DATA, words, model.operation, "ADD", [x, x, 1.0])
    byte = model.input("TENSOR_QUANT8_ASYMM", [2], 1)
    words = "ADD: a quantized constant needs a scale"
    refused(ResultCode.BAD_DATA, words, model.operation, "ADD", [byte, np.zeros(2, np.uint8), 0])


@pytest.mark.parametrize(
    ("name", "others"),
    [("SLICE", ([0], [2])), ("STRIDED_SLICE", ([0], [2], [1], 0, 0, 0)), ("GATHER", (0, [0, 1]))],
)
def test_parameters_of_a_copy(model: Model, name: str, others: tuple[object, ...]) -> None:
    """Those of the input, or what the program says."""
    byte = model.input("TENSOR_QUANT8_ASYMM", [3], 0.5, 7)
    inputs = [np.int32(value) if isinstance(value, list) else value for value in others]
    copy = model.operation(name, [byte, *inputs])
    assert (copy.scale, copy.zero_point) == (0.5, 7)
    other = model.operation(name, [byte, *inputs], scale=0.25, zero_point=3)
    assert (other.scale, other.zero_point) == (0.25, 3)


def test_what_would_fail_when_computed_is_refused_early(model: Model) -> None:
    x = model.input(F32, [2, 3])
    refused(ResultCode.OP_FAILED, "ADD: ", model.operation, "ADD", [x, np.zeros((2, 4)), 0])
    refused(ResultCode.OP_FAILED, "ADD: ", model.operation, "ADD", [x, x, 99])
    refused(ResultCode.BAD_DATA, "is omitted", model.operation, "RESHAPE", [x, None])
    wrong = {"dimensions": [3, 3]}
    refused(ResultCode.OP_FAILED, "declared are [3, 3]", model.operation, "RELU", [x], **wrong)


def test_a_refused_operation_leaves_the_model_usable(model: Model) -> None:
    x = model.input(F32, [2, 3])
    refused(ResultCode.OP_FAILED, "", model.operation, "ADD", [x, np.zeros((2, 4)), 0])
    model.outputs(model.operation("RELU", [x]))
    model.finish()


def test_operands_of_another_model(model: Model) -> None:
    stranger = Model().input(F32, [2])
    words = "<operand 0 TENSOR_FLOAT32[2]> belongs to another model"
    refused(ResultCode.BAD_DATA, words, model.operation, "RELU", [stranger])
    model.input(F32, [2])
    refused(ResultCode.BAD_DATA, words, model.set_operand_value, stranger, [1, 2])
    refused(ResultCode.BAD_DATA, "operand 7 does not exist", model.outputs, 7)
    refused(ResultCode.BAD_DATA, "operand -1 does not exist", model.outputs, -1)


def test_values_of_other_dimensions(model: Model) -> None:
    operand = model.add_operand(F32, [2, 3])
    words = "operand 0 TENSOR_FLOAT32[2, 3]: the value has dimensions [3, 2]"
    refused(ResultCode.BAD_DATA, words, model.set_operand_value, operand, np.zeros((3, 2)))


def test_finish_without_outputs(model: Model) -> None:
    model.operation("RELU", [model.input(F32, [2])])
    refused(ResultCode.BAD_STATE, "the model has inputs and no outputs", model.finish)
    refused(ResultCode.BAD_DATA, "at least one operand", Model().finish)
