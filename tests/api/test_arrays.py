"""numpy arrays as contents of operands."""

import numpy as np
import pytest

from nnapi_shim import NnapiError, ResultCode
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
