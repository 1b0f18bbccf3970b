"""Operand types by numpy dtypes, such as `np.float32` and `"float32"`."""

from typing import Any

import numpy as np

from nnapi_shim.api.arrays import DTYPES, SCALAR_TYPES, TENSOR_TYPES
from nnapi_shim.api.names import member, unknown
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import OperandType


def operand_type(value: Any, is_tensor: bool) -> OperandType:
    """The operand type of a member, a name, a code or a dtype; raises BAD_DATA for others."""
    if isinstance(value, OperandType):
        return value
    name = _dtype_name(value)
    if name is None:
        if is_tensor and isinstance(value, str) and value not in OperandType.__members__:
            tensor = f"TENSOR_{value.upper()}"
            if tensor in OperandType.__members__:
                raise unknown("OperandType", value, [], tensor)
        return member(OperandType, value)
    kind = (TENSOR_TYPES if is_tensor else SCALAR_TYPES).get(name)
    if kind is None or DTYPES[kind].name != name:  # float64 and int64 stand for other types
        near = f"; did you mean {kind.name}?" if kind is not None else ""
        what = "tensors" if is_tensor else "scalars"
        raise bad_data(f"NNAPI has no {what} of {name}{near}", "array.no-dtype")
    return kind


def _dtype_name(value: Any) -> str | None:
    """The name of a dtype; None for what is none, and for names and codes of operand types."""
    is_class = isinstance(value, type) and issubclass(value, np.generic | bool | int | float)
    if not (
        is_class or isinstance(value, np.dtype) or (isinstance(value, str) and value.islower())
    ):
        return None
    try:
        return str(np.dtype(value).name)
    except TypeError:
        return None
