"""TensorFlow Lite element types."""

from functools import cache
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import DTYPES
from nnapi_shim.formats.tflite import schema, tensor
from nnapi_shim.formats.tflite.exporting.subgraph import RESOURCE

NAMES = {np.dtype(dtype): name for name, dtype in reversed(tensor.DTYPES.items())}
"""Numpy type -> TensorType; the first of those with the same type."""


def type_code(type: Any) -> int:
    """The TensorType of an operand type."""
    return _codes()[RESOURCE if type == RESOURCE else NAMES[DTYPES[type]]]


@cache
def _codes() -> dict[str, int]:
    return {name: code for code, name in schema.names("TensorType").items()}
