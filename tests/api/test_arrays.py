"""numpy arrays as contents of operands."""

import numpy as np
import pytest

from nnapi_shim import Compilation, Execution, Model, NnapiError, ResultCode, quantize
from nnapi_shim import OperandType as T
from nnapi_shim.api.arrays import DTYPES, address, elements, natural_type


@pytest.mark.parametrize(
    ("value", "type"),
    [
        (1, T.INT32),
        (1.0, T.FLOAT32),
        (True, T.BOOL),
        (np.float16(1), T.FLOAT16),
        (np.uint32(1), T.UINT32),
        (np.array(1.0), T.FLOAT32),
        ([1, 2], T.TENSOR_INT32),
        ([[1.0], [2]], T.TENSOR_FLOAT32),
        (np.zeros(1), T.TENSOR_FLOAT32),
        (np.zeros(1, np.float16), T.TENSOR_FLOAT16),
        (np.zeros(1, np.int32), T.TENSOR_INT32),
        (np.zeros(1, bool), T.TENSOR_BOOL8),
        (np.zeros(1, np.uint8), T.TENSOR_QUANT8_ASYMM),
        (np.zeros(1, np.int8), T.TENSOR_QUANT8_ASYMM_SIGNED),
        (np.zeros(1, np.uint16), T.TENSOR_QUANT16_ASYMM),
        (np.zeros(1, np.int16), T.TENSOR_QUANT16_SYMM),
    ],
)
def test_natural_type(value: object, type: T) -> None:
    assert natural_type(value) is type


@pytest.mark.parametrize("value", [np.zeros(1, np.uint64), np.zeros(1, complex), "text", [None]])
def test_no_natural_type(value: object) -> None:
    with pytest.raises(NnapiError, match="BAD_DATA: NNAPI has no") as caught:
        natural_type(value)
    assert caught.value.code is ResultCode.BAD_DATA


@pytest.mark.parametrize("type", DTYPES)
def test_the_same_array_where_nothing_is_to_do(type: T) -> None:
    array = np.zeros((2, 3), DTYPES[type])
    assert elements(array, type) is array
    assert address(array) == array.ctypes.data


def test_order_and_byte_order_are_put_right() -> None:
    array = np.arange(6, dtype=">f4").reshape(2, 3).T
    result = elements(array, T.TENSOR_FLOAT32)
    assert result.dtype == np.dtype("=f4") and result.flags.c_contiguous
    np.testing.assert_array_equal(result, array)


def test_rank_0_stays() -> None:
    assert elements(3, T.INT32).shape == ()


@pytest.mark.parametrize("value", [[1.0], np.ones(3, np.float16), np.float32(2), [0.5]])
def test_floats_are_no_quantized_numbers(value: object) -> None:
    """Neither the stored integers nor the real numbers: the caller says which."""
    for type, scale in ((T.TENSOR_QUANT8_ASYMM, 0.0), (T.TENSOR_INT32, 0.25)):
        with pytest.raises(NnapiError) as caught:
            elements(value, type, scale)
        assert caught.value.rule == "array.floats"
    assert elements([], T.TENSOR_QUANT8_ASYMM).size == 0
    assert elements([1.0], T.TENSOR_INT32).tolist() == [1]


def test_floats_for_a_quantized_input_or_constant() -> None:
    with Model() as model:
        x = model.input("TENSOR_QUANT8_ASYMM", [1, 4], 0.1, name="picture")
        with pytest.raises(NnapiError, match=r"numpy.round\(array / 0.25\).astype\('int32'\)"):
            model.constant(np.ones(4), "TENSOR_INT32", 0.25)
        model.outputs(model.relu(x))
    compilation = Compilation(model)
    ones = np.ones((1, 4), np.float32)
    cure = r"picture \(input 0\): .*nnapi_shim.quantize\(array, scale, zero_point, 'TENSOR_QUANT8_A"
    with pytest.raises(NnapiError, match=cure):
        compilation.run(ones)
    with pytest.raises(NnapiError, match=cure):
        Execution(compilation).set_input(0, ones)
    assert compilation.run(quantize(ones, 0.1)).tolist() == [[10] * 4]
    assert compilation.run([[1, 2, 3, 4]]).tolist() == [[1, 2, 3, 4]]


def test_floats_are_rounded() -> None:
    assert elements([0.1], T.TENSOR_FLOAT32)[0] == np.float32(0.1)
    assert elements([1], T.TENSOR_FLOAT16).dtype == np.float16


@pytest.mark.parametrize(
    ("value", "type"),
    [
        ([256], T.TENSOR_QUANT8_ASYMM),
        ([-1], T.TENSOR_QUANT8_ASYMM),
        ([0.5], T.TENSOR_INT32),
        ([float("nan")], T.TENSOR_INT32),
        ([1 << 40], T.TENSOR_INT32),
        ([2], T.TENSOR_BOOL8),
        (["1"], T.TENSOR_FLOAT32),
        ([1j], T.TENSOR_FLOAT32),
        (0, T.MODEL),
    ],
)
def test_values_that_do_not_fit(value: object, type: T) -> None:
    with pytest.raises(NnapiError, match=f"BAD_DATA: .*{type.name}"):
        elements(value, type)
