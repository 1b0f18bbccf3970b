"""`@kernel`: the only decorator for compiled kernels, their signature and their options.

Signature: `int32 kernel(record *, int64 tile, int64 deadline)`, a result code out (0 is success).
The deadline is in ns of the monotonic clock, or 0; kernels whose tiles are short leave it out, the
others answer with DEADLINE soon after it (clock.py).

Options: error_model "numpy", because a division must not raise; fast-math off, because results are
specified; runtime reference counting on, because reading the record as an array needs it (what is
compiled has no trace of it left; the build checks that). Kernels do not allocate, do not raise
and never see Python.
"""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import carray, types

from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32, FLOAT64, INT64, Record

_DTYPES = {ADDRESS: "i8", INT64: "i8", FLOAT32: "f4", FLOAT64: "f8"}


class Kernel(NamedTuple):
    """A kernel: its name, its record and the Python function."""

    name: str
    record: Record
    function: Callable[[Any, int], int]


KERNELS: dict[str, Kernel] = {}


def kernel(record: Record, name: str = "") -> Callable[[Any], Any]:
    """Register a function (a, tile) or (a, tile, deadline) as a kernel, under its own name by
    default; `a` has the record's fields.

    A kernel copies the fields that it uses in loops to local names first: the compiler cannot know
    that a store through a pointer leaves the record alone.
    """

    def register(function: Any) -> Any:
        # A kernel that a shared factory makes belongs to the file that asks for it.
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_name != "<module>":
            frame = frame.f_back
        function.__module__ = frame.f_globals["__name__"]
        function.__name__ = name or function.__name__
        KERNELS[function.__name__] = Kernel(function.__name__, record, function)
        return function

    return register


def record_type(record: Record) -> types.Record:
    """The record as a numba type: every field at the start of its own 8-byte word."""
    names = list(record.fields)
    return numba.from_dtype(
        np.dtype(
            {
                "names": names,
                "formats": [_DTYPES[kind] for kind in record.fields.values()],
                "offsets": [8 * at for at in range(len(names))],
                "itemsize": 8 * max(1, len(names)),
            }
        )
    )


def entry(item: Kernel) -> tuple[Callable[..., int], types.Type, tuple[types.Type, ...]]:
    """What is compiled for a kernel: (function, return type, argument types)."""
    body = inlined(item.function)
    arguments = (types.CPointer(record_type(item.record)), types.int64, types.int64)

    def call(block: Any, tile: int) -> Any:
        return np.int32(body(carray(block, 1)[0], tile))

    def call_until(block: Any, tile: int, deadline: int) -> Any:
        return np.int32(body(carray(block, 1)[0], tile, deadline))

    count = item.function.__code__.co_argcount
    chosen: Any = call_until if count == 3 else call
    chosen.__name__ = chosen.__qualname__ = item.name
    return chosen, types.int32, arguments[:count]


_OPTIONS: Any = {
    "error_model": "numpy", "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True,
}  # fmt: skip


def helper(function: Any) -> Any:
    """A function that kernels call: inlined by the compiler where that pays.

    It has no wrappers to be called from Python or C with, which would take time to compile.
    """
    return numba.njit(**_OPTIONS)(function)


def inlined(function: Any) -> Any:
    """A helper that is always inlined: long formulas of one element, whose loops the compiler could
    not turn into vectors otherwise.
    """
    return numba.njit(**_OPTIONS, forceinline=True)(function)
