"""The fixed first part of a Python program that replays a capture."""

PRELUDE = '''"""@TITLE@

It repeats the calls in order and compares the results with the captured ones. The exit status is
0 if all are equal, else 1.
"""

import mmap
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim import capi

ffi, lib = capi.ffi, capi.lib
NULL = ffi.NULL
made_handles: dict[str, Any] = {}
buffers: dict[str, tuple[mmap.mmap, int]] = {}
variables: dict[str, Any] = {}
kept: list[Any] = []
calls = compared = differences = 0


def keep(thing: Any) -> Any:
    """Keep alive what the library may read until the end."""
    kept.append(thing)
    return thing


def data(at: int, length: int) -> bytes:
    return DATA[at : at + length]


def constant(at: int, length: int) -> Any:
    return keep(ffi.new("char[]", data(at, length) or b"\\0"))


def handle(kind: str, name: str) -> Any:
    if name.startswith("0x"):
        return ffi.cast(f"{kind} *", int(name, 16))
    return ffi.cast(f"{kind} *", made_handles[name][0] if name in made_handles else NULL)


def made(kind: str, name: str | None) -> Any:
    variable = ffi.new(f"{kind} **")
    if name is not None:
        made_handles[name] = variable
    return variable


def handles(kind: str, names: Sequence[str | None]) -> Any:
    return keep(ffi.new(f"{kind} *[]", [NULL if n is None else handle(kind, n) for n in names]))


def operand_type(
    code: int, sizes: Sequence[int] | None, count: int, scale: float, zero_point: int
) -> Any:
    array = NULL if sizes is None else keep(ffi.new("uint32_t[]", sizes))
    fields = (code, count, array, scale, zero_point)
    return keep(ffi.new("ANeuralNetworksOperandType *", fields))


def scales(dim: int, numbers: Sequence[float] | None) -> Any:
    array = NULL if numbers is None else keep(ffi.new("float[]", numbers))
    fields = (dim, 0 if numbers is None else len(numbers), array)
    return keep(ffi.new("ANeuralNetworksSymmPerChannelQuantParams *", fields))


def buffer(name: str, length: int) -> Any:
    buffers[name] = mmap.mmap(-1, max(length, 1)), 0
    return keep(ffi.from_buffer(buffers[name][0]))


def memory_file(length: int, offset: int, name: str) -> int:
    """Memory that the library can map: an unnamed file."""
    fd = os.memfd_create("memory")
    os.ftruncate(fd, max(length, 1))
    buffers[name] = mmap.mmap(fd, max(length, 1)), offset
    return fd


def fence() -> int:
    """A descriptor that can be read: a fence that is signalled."""
    reading, writing = os.pipe()
    os.write(writing, b"\\0")
    os.close(writing)
    return reading


def variable(kind: str, name: str) -> Any:
    variables[name] = ffi.new(kind)
    return variables[name]


def sizes(name: str, execution: Any, index: int, expected: int) -> Any:
    """An array for the dimensions of an output, at least as many as expected."""
    rank = ffi.new("uint32_t *")
    lib.ANeuralNetworksExecution_getOutputOperandRank(execution, index, rank)
    return variable(f"uint32_t[{max(rank[0], expected)}]", name)


def fill(target: str, offset: int, contents: bytes) -> None:
    mapping, start = buffers[target]
    mapping[start + offset : start + offset + len(contents)] = contents


def call(number: int, function: str, expected: int | None, *arguments: Any) -> None:
    global calls, differences
    calls += 1
    code = getattr(lib, function)(*arguments)
    if expected is not None and code != expected:
        differences += 1
        print(f"call {number}, {function}: result {code}; it was {expected}")


def equal(number: int, name: str, expected: int | list[int]) -> None:
    global differences
    values = variables[name]
    value: int | list[int]
    if isinstance(expected, list):
        value = [int(values[at]) for at in range(len(expected))]
    else:
        value = int(values[0])
    if value != expected:
        differences += 1
        print(f"call {number}: {name} is {value}; it was {expected}")


def compare(
    number: int,
    output: int,
    target: str,
    offset: int,
    dtype: str,
    expected: bytes,
    absolute: float,
    relative: float,
) -> None:
    global compared, differences
    compared += 1
    mapping, start = buffers[target]
    was = np.frombuffer(expected, dtype)
    now = np.frombuffer(mapping, was.dtype, was.size, start + offset)
    wrong = was.view(f"u{was.itemsize}") != now.view(f"u{was.itemsize}")
    if absolute or relative:
        a, b = was.astype(np.float64), now.astype(np.float64)
        with np.errstate(invalid="ignore"):
            near = np.isfinite(a) & np.isfinite(b) & (abs(a - b) <= absolute + relative * abs(a))
            wrong &= ~((a == b) | near | (np.isnan(a) & np.isnan(b)))
    if wrong.any():
        differences += 1
        first = int(np.flatnonzero(wrong)[0])
        print(
            f"call {number}: output {output}: {wrong.sum()} of {wrong.size} elements differ; the "
            f"first is {now[first]}, it was {was[first]}"
        )


'''
