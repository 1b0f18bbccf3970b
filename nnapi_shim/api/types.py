"""Names of the types that methods take and return, for annotations of programs.

from nnapi_shim.api.types import Array, Value
"""

from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from nnapi_shim.api.arrays import Array as Array
from nnapi_shim.api.buffers import Target as Target
from nnapi_shim.api.buffers import Value as Value
from nnapi_shim.api.devices import Choice as Choice
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.quantization import Scale as Scale
from nnapi_shim.hal.enums import FuseCode, OperandType, PaddingCode

TypeName: TypeAlias = Literal[
    "FLOAT32",
    "FLOAT16",
    "INT32",
    "UINT32",
    "BOOL",
    "TENSOR_FLOAT32",
    "TENSOR_FLOAT16",
    "TENSOR_INT32",
    "TENSOR_BOOL8",
    "TENSOR_QUANT8_ASYMM",
    "TENSOR_QUANT8_ASYMM_SIGNED",
    "TENSOR_QUANT8_SYMM",
    "TENSOR_QUANT8_SYMM_PER_CHANNEL",
    "TENSOR_QUANT16_ASYMM",
    "TENSOR_QUANT16_SYMM",
    "MODEL",
    "OEM_SCALAR",
    "TENSOR_OEM_BYTE",
]
"""The name of an operand type."""

DtypeName: TypeAlias = Literal["float32", "float16", "int32", "uint32", "bool"]
"""The name of a numpy dtype that an operand type has."""

Type: TypeAlias = OperandType | TypeName | int
"""An operand type, its name or its code."""

DeclaredType: TypeAlias = Type | DtypeName | np.dtype[Any] | type[np.generic]
"""An operand type, or a numpy dtype: for the tensor of such elements, or for the scalar if no
dimensions are given.
"""

Sizes: TypeAlias = Sequence[int | None] | None
"""Dimensions; None or 0 for an unknown size, None for an unknown rank."""

Given: TypeAlias = Operand | ArrayLike
"""An input: an operand, or numbers, which become a constant of the required type."""

Int: TypeAlias = SupportsIndex
"""An integer, or an operand with an integer."""

Bool: TypeAlias = Operand | bool
"""A boolean, or an operand with a boolean."""

Float: TypeAlias = Operand | float
"""A number, or an operand with a number."""

Pair: TypeAlias = Int | tuple[Int, Int]
"""Width and height; one number for both."""

Padding: TypeAlias = PaddingCode | Literal["SAME", "VALID"] | Int | tuple[Int, Int, Int, Int]
"""A padding scheme, or the numbers of padded columns and rows (left, right, top, bottom)."""

Activation: TypeAlias = FuseCode | Literal["NONE", "RELU", "RELU1", "RELU6"] | Int
"""A fused activation."""

CellActivation: TypeAlias = Literal["NONE", "RELU", "RELU1", "RELU6", "TANH", "SIGMOID"] | Int
"""The activation of an LSTM cell."""

Outputs: TypeAlias = Array | Any
"""An array; for a model with several outputs a tuple of arrays. Type checkers treat it as an array
that can also be unpacked.
"""
