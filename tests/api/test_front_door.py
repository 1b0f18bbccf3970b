"""What beginners type: names of dtypes, numbers in place of tensors, names that are not unique."""

import numpy as np
import pytest

from nnapi_shim import Compilation, Model, NnapiError
from nnapi_shim import OperandType as T
from nnapi_shim.runtime.execution import Execution


@pytest.mark.parametrize(
    ("arguments", "type"),
    [
        ("float32", T.TENSOR_FLOAT32),
        (np.float16, T.TENSOR_FLOAT16),
        (np.dtype("int32"), T.TENSOR_INT32),
        ("bool", T.TENSOR_BOOL8),
        ("TENSOR_FLOAT32", T.TENSOR_FLOAT32),
        (3, T.TENSOR_FLOAT32),
    ],
)
def test_dtypes_as_types(arguments: object, type: T) -> None:
    assert Model().input(arguments, [2]).type is type


def test_dtypes_of_scalars_and_constants() -> None:
    model = Model()
    assert model.input(np.uint32).type is T.UINT32
    assert model.constant([1, 2], np.float32).type is T.TENSOR_FLOAT32
    assert model.constant(1, np.float32).type is T.FLOAT32
    assert model.input("uint8", [2], 0.5, 3).type is T.TENSOR_QUANT8_ASYMM


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("float64", "no tensors of float64; did you mean TENSOR_FLOAT32?"),
        (float, "no tensors of float64; did you mean TENSOR_FLOAT32?"),
        (np.complex64, "no tensors of complex64"),
        ("FLOAT32", "FLOAT32 is a scalar and has none; did you mean TENSOR_FLOAT32?"),
        ("BOOL", "BOOL is a scalar and has none; did you mean TENSOR_BOOL8?"),
        ("FLOAT32_TENSOR", "did you mean TENSOR_FLOAT32?"),
        ("nonsense", "there is no OperandType"),
    ],
)
def test_types_that_are_none(arguments: object, words: str) -> None:
    with pytest.raises(NnapiError) as caught:
        Model().input(arguments, [2])
    assert words in caught.value.message


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_numbers_in_place_of_tensors(dtype: type, device: str) -> None:
    with Model() as model:
        x = model.input(dtype, [3], name="x")
        y = model.add(model.mul(x, 2), np.int32(1) if dtype is np.int32 else 1.0)
        model.outputs(model.maximum(3, y))
    assert Compilation(model, devices=[device]).run(np.array([0, 1, 2], dtype)).tolist() == [
        3,
        3,
        5,
    ]


def test_numbers_that_do_not_fit() -> None:
    model = Model()
    whole = model.input("int32", [3])
    with pytest.raises(NnapiError, match="not all values of this float64 array are int32"):
        model.add(whole, 1.5)
    quantized = model.input("TENSOR_QUANT8_ASYMM", [3], 0.5)
    with pytest.raises(NnapiError, match=r"input1 .* is FLOAT32; allowed here: TENSOR_QUANT8_A"):
        model.add(quantized, 1.0, scale=0.5)


def test_two_inputs_of_one_name(capfd: pytest.CaptureFixture[str]) -> None:
    with Model() as model:
        a = model.input("float32", [2], name="x")
        b = model.input("float32", [2], name="x")
        model.outputs(model.add(a, b))
    (line,) = capfd.readouterr().err.splitlines()
    assert "input 1 has the name 'x' of another input; runs by name take input_1" in line
    compilation = Compilation(model)
    with pytest.raises(NnapiError, match=r"2 inputs have the name 'x'.* as input_0 and input_1"):
        compilation.run(x=np.ones(2))
    assert compilation.run(input_0=np.ones(2), input_1=np.ones(2)).tolist() == [2, 2]


def test_no_rows() -> None:
    with Model() as model:
        model.outputs(model.relu(model.input("float32", [None, 2], name="rows")))
    compilation = Compilation(model)
    with pytest.raises(
        NnapiError, match=r"'rows': .* a run cannot have a batch of 0 rows: skip it"
    ):
        compilation.run(np.ones((0, 2), np.float32))
    with pytest.raises(NnapiError, match="pass an ANeuralNetworksOperandType with them to ANeural"):
        Execution(compilation.runtime).set_argument("input", 0, None, 4096, 8)
