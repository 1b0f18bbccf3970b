"""What the import makes that a file does not hold: bounded by the size of the file.

A file of a few hundred bytes can declare a dimension of two thousand million. Whatever is made of
such a number goes through here; tests/formats/tflite/test_allocation.py finds what does not.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import NnapiError, bad_data

ALWAYS = 64 * 2**20
"""Bytes that may be made for a file of any size."""

TIMES = 16
"""Bytes that may be made beyond that for each byte of a file: its INT4 constants become float32,
which is eight times their size.
"""


class Room:
    """The memory that the import of one file may take, all its graphs together."""

    def __init__(self, file_bytes: int) -> None:
        self._limit = ALWAYS + TIMES * file_bytes
        self._file_bytes = file_bytes
        self._left = self._limit

    def take(self, size: int, what: str) -> None:
        """Count bytes that are about to be made.

        Raises BAD_DATA, with `what` in front, where they are more than there is room for.
        """
        if size > self._left:
            raise self._refused(size, what)
        self._left -= size

    def _refused(self, size: int, what: str) -> NnapiError:
        return bad_data(
            f"{what} takes {size} bytes; for a file of {self._file_bytes} bytes {self._limit} are "
            f"made at most, of which {self._left} are left",
            "import.tflite.out-of-proportion",
        )

    def filled(self, shape: Sequence[int], value: Any, dtype: Any, what: str) -> Array:
        """An array of one number."""
        self.take(math.prod(shape) * np.dtype(dtype).itemsize, what)
        return np.full(tuple(shape), value, dtype)

    def empty(self, shape: Sequence[int], dtype: Any, what: str) -> Array:
        """An array without elements; `shape` has a 0."""
        try:
            return np.empty(tuple(shape), dtype)
        except ValueError:  # the product of the others does not fit in numpy's sizes
            raise self._refused(2**63, what) from None

    def counted(self, count: int, dtype: Any, what: str) -> Array:
        """0, 1, 2 and so on, `count` numbers."""
        self.take(count * np.dtype(dtype).itemsize, what)
        return np.arange(count, dtype=dtype)

    def repeated(self, values: Array, shape: Sequence[int], what: str) -> Array:
        """The same elements, repeated until they fill a shape."""
        self.take(math.prod(shape) * values.dtype.itemsize, what)
        return np.ascontiguousarray(np.broadcast_to(values, tuple(shape)))
