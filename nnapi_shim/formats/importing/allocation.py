"""Bounds the memory that an import allocates, by the size of the file.

A file of a few hundred bytes can declare a dimension of 2 * 10^9. Every allocation whose size comes
from the file goes through this module; tests/formats/tflite/test_allocation.py finds those that do
not.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import NnapiError, bad_data

ALWAYS = 64 * 2**20
"""The bytes that an import may allocate for a file of any size."""

TIMES = 16
"""The additional bytes per byte of the file: an INT4 constant becomes float32, eight times its
size.
"""


class Room:
    """The memory budget of the import of one file, shared by all its graphs."""

    def __init__(self, file_bytes: int) -> None:
        self._limit = ALWAYS + TIMES * file_bytes
        self._file_bytes = file_bytes
        self._left = self._limit

    def take(self, size: int, what: str) -> None:
        """Count bytes before they are allocated.

        Raises BAD_DATA, with `what` in front, if the budget does not suffice.
        """
        if size > self._left:
            raise self._refused(size, what)
        self._left -= size

    def _refused(self, size: int, what: str) -> NnapiError:
        return bad_data(
            f"{what} takes {size} bytes; for a file of {self._file_bytes} bytes {self._limit} are "
            f"allocated at most, of which {self._left} are left",
            "import.tflite.out-of-proportion",
        )

    def filled(self, shape: Sequence[int], value: Any, dtype: Any, what: str) -> Array:
        """An array filled with one number."""
        self.take(math.prod(shape) * np.dtype(dtype).itemsize, what)
        return np.full(tuple(shape), value, dtype)

    def empty(self, shape: Sequence[int], dtype: Any, what: str) -> Array:
        """An array without elements; `shape` contains a 0."""
        try:
            return np.empty(tuple(shape), dtype)
        except ValueError:  # the product of the other sizes overflows
            raise self._refused(2**63, what) from None

    def counted(self, count: int, dtype: Any, what: str) -> Array:
        """The numbers from 0 to `count` - 1."""
        self.take(count * np.dtype(dtype).itemsize, what)
        return np.arange(count, dtype=dtype)

    def repeated(self, values: Array, shape: Sequence[int], what: str) -> Array:
        """The elements repeated until they fill `shape`."""
        self.take(math.prod(shape) * values.dtype.itemsize, what)
        return np.ascontiguousarray(np.broadcast_to(values, tuple(shape)))
