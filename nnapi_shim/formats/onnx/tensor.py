"""The contents of a TensorProto as an array, a view of the file where that is possible."""

import math
import os
import stat
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import bad_data
from nnapi_shim.formats.onnx.schema import DATA_FIELDS, DTYPES, TYPES
from nnapi_shim.formats.onnx.wire import numbers

MOST_DIMENSIONS = 64
"""The highest rank of a tensor, as of numpy arrays."""


class Constant(NamedTuple):
    """A constant. array: None for an element type without numpy type."""

    type: str
    shape: tuple[int, ...]
    array: Array | None


def constant(tensor: Any, where: str, folder: str | None) -> Constant:
    """The contents of a TensorProto.

    folder: that of the file, for contents in other files; None refuses those.
    """
    name = TYPES.get(tensor.data_type, f"type {tensor.data_type}")
    shape = sizes(tensor.dims, where)
    if name not in DTYPES:
        return Constant(name, shape, None)
    count = math.prod(shape)
    dtype = np.dtype(DTYPES[name])
    if tensor.location == 1:
        raw = _external(tensor, where, folder)
    elif len(tensor.raw_data):
        raw = np.frombuffer(tensor.raw_data, np.uint8)
    else:
        return Constant(name, shape, _listed(tensor, where, name, shape))
    packed = name in ("INT4", "UINT4")
    expected = (count + 1) // 2 if packed else count * dtype.itemsize
    if raw.nbytes != expected:
        raise bad_data(
            f"{where}: {raw.nbytes} bytes of data; {name}{list(shape)} has {expected}",
            "import.onnx.tensor.data-size",
        )
    if packed:
        return Constant(name, shape, _halves(raw, name, count).reshape(shape))
    array = raw != 0 if name == "BOOL" else raw.view(dtype)
    return Constant(name, shape, array.reshape(shape))


def sizes(dims: Sequence[Any], where: str) -> tuple[int, ...]:
    """The dimensions of a tensor."""
    shape = tuple(int(size) for size in numbers(list(dims), np.int64))
    if len(shape) > MOST_DIMENSIONS:
        raise bad_data(f"{where}: it has {len(shape)} dimensions", "import.onnx.tensor.rank")
    if any(size < 0 for size in shape):
        raise bad_data(f"{where}: shape {list(shape)}", "import.onnx.tensor.shape")
    return shape


def _listed(tensor: Any, where: str, name: str, shape: tuple[int, ...]) -> Array:
    """Numbers from the field of their type."""
    count = math.prod(shape)
    values = getattr(tensor, DATA_FIELDS.get(name, "int32_data"))
    total = sum(value.size if isinstance(value, np.ndarray) else 1 for value in values)
    packed = name in ("INT4", "UINT4")
    if total != ((count + 1) // 2 if packed else count):
        raise bad_data(
            f"{where}: {total} numbers of data; {name}{list(shape)} has {count}",
            "import.onnx.tensor.data-count",
        )
    dtype = DTYPES[name]
    if name in ("FLOAT", "DOUBLE"):
        return numbers(values, dtype).reshape(shape)
    integers = numbers(values, np.int64)
    if packed:
        return _halves(integers.astype(np.uint8), name, count).reshape(shape)
    if name == "FLOAT16":
        return integers.astype(np.uint16).view(np.float16).reshape(shape)
    return integers.astype(dtype).reshape(shape)


def _halves(raw: Array, name: str, count: int) -> Array:
    """Elements of 4 bits, the low half of each byte first."""
    if name == "UINT4":
        halves = np.stack([raw & 15, raw >> 4], -1)
    else:
        halves = np.stack([raw << 4, raw & 0xF0], -1).view(np.int8) >> 4
    return halves.reshape(-1)[:count]


def _external(tensor: Any, where: str, folder: str | None) -> Array:
    """The bytes of a tensor in a file beside the model."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    path = PurePosixPath(location)
    if folder is None or not location or path.is_absolute() or ".." in path.parts:
        raise bad_data(
            f"{where}: its data is in {location!r}; it must be in a file below the model's folder",
            "import.onnx.external.location",
        )
    full = os.path.join(folder, *path.parts)  # noqa: PTH118
    if not os.path.realpath(full).startswith(os.path.realpath(folder) + os.sep):
        raise bad_data(
            f"{where}: its data is in {location!r}, a link to another folder",
            "import.onnx.external.link",
        )
    try:
        start = int(entries.get("offset", "0"))
        descriptor = os.open(full, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:
        raise bad_data(
            f"{where}: offset {entries['offset']!r}", "import.onnx.external.offset"
        ) from None
    try:
        info = os.fstat(descriptor)
        length = int(entries.get("length", info.st_size - start))
        is_regular = stat.S_ISREG(info.st_mode)
        if not is_regular or start < 0 or length < 0 or start + length > info.st_size:
            raise bad_data(
                f"{where}: bytes {start} to {start + length} of {location!r}, which has "
                f"{info.st_size}",
                "import.onnx.external.range",
            )
        if not length:
            return np.empty(0, np.uint8)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return np.memmap(file, np.uint8, "r", start, (length,))
    finally:
        os.close(descriptor)
