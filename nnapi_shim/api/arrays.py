"""numpy arrays as contents of operands: element types, conversion, addresses."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nnapi_shim.api.argument_types import shown
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import QUANTIZED_RANGE, STRUCT_CODES

Array = NDArray[Any]
"""An array of numpy, of any type of elements."""

DTYPES = {type: np.dtype(code) for type, code in STRUCT_CODES.items()} | {
    T.BOOL: np.dtype(np.bool_),
    T.TENSOR_BOOL8: np.dtype(np.bool_),
}
"""Element type of every operand type that has contents."""

TENSOR_TYPES = {
    "float32": T.TENSOR_FLOAT32,
    "float64": T.TENSOR_FLOAT32,
    "float16": T.TENSOR_FLOAT16,
    "int32": T.TENSOR_INT32,
    "int64": T.TENSOR_INT32,
    "bool": T.TENSOR_BOOL8,
    "uint8": T.TENSOR_QUANT8_ASYMM,
    "int8": T.TENSOR_QUANT8_ASYMM_SIGNED,
    "uint16": T.TENSOR_QUANT16_ASYMM,
    "int16": T.TENSOR_QUANT16_SYMM,
}
SCALAR_TYPES = {
    "float32": T.FLOAT32,
    "float64": T.FLOAT32,
    "float16": T.FLOAT16,
    "int32": T.INT32,
    "int64": T.INT32,
    "uint32": T.UINT32,
    "bool": T.BOOL,
}


def as_array(value: ArrayLike) -> Array:
    """The value as a numpy array; raises BAD_DATA for ragged lists and the like."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise bad_data(
            f"a value is {shown(value)}, which is no array: {error}", "array.no-array"
        ) from None


def natural_type(value: ArrayLike) -> T:
    """The default operand type of a constant, by its value.

    Arrays of rank 0 are scalars. float64 and int64, numpy's types of Python numbers, become FLOAT32
    and INT32. Raises BAD_DATA for an element type that NNAPI does not have.
    """
    array = as_array(value)
    types = TENSOR_TYPES if array.ndim else SCALAR_TYPES
    if array.dtype.name not in types:
        what = "tensors" if array.ndim else "scalars"
        raise bad_data(
            f"NNAPI has no {what} of {array.dtype}, which {shown(value)} is; allowed are "
            f"{', '.join(types)}",
            "array.no-operand-type",
        )
    return types[array.dtype.name]


def elements(value: ArrayLike, type: T, scale: float = 0.0) -> Array:
    """The value as a row-major array of the elements of an operand type.

    An array that fits is returned unchanged, others are converted. Conversion may round to a float
    type, and changes nothing else. Raises BAD_DATA for values that do not fit, and for floats if
    the type or a scale says that integers represent other numbers.
    """
    dtype = DTYPES.get(type)
    if dtype is None:
        raise bad_data(f"{type.name} holds nothing that an array can give", "array.no-elements")
    array = as_array(value)
    if array.dtype != dtype:
        _require_integers(array, type, scale)
        array = _converted(array, dtype, type)
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    return np.require(array, requirements=["C", "ALIGNED"])


def _require_integers(array: Array, type: T, scale: float) -> None:
    if array.dtype.kind != "f" or not array.size or not (type in QUANTIZED_RANGE or scale):
        return
    if type in QUANTIZED_RANGE:
        cure = f"nnapi_shim.quantize(array, scale, zero_point, {type.name!r})"
    else:
        cure = f"numpy.round(array / {scale:g}).astype('{DTYPES[type]}')"
    raise bad_data(
        f"floats ({array.dtype}) are given for {type.name}, whose integers stand for numbers by a "
        f"scale; {cure} makes them of real numbers, array.astype('{DTYPES[type]}') takes them as "
        "they are",
        "array.floats",
    )


def _converted(array: Array, dtype: np.dtype[Any], type: T) -> Array:
    if array.dtype.kind not in "biuf":
        raise bad_data(f"values of {array.dtype} cannot be those of {type.name}", "array.type")
    if array.dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # NaN is checked below
            result = array.astype(dtype)
    else:
        result = array.astype(dtype)
    if dtype.kind != "f" and not (result == array).all():
        raise bad_data(
            f"not all values of this {array.dtype} array are {dtype}, as {type.name} is",
            "array.values",
        )
    return result


def address(array: Array) -> int:
    """The address of the first byte; the caller keeps the array alive."""
    return int(array.__array_interface__["data"][0])
