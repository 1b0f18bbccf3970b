"""Arrays from files: numpy's, JSON, CSV and raw bytes, converted to the type of an input."""

import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nnapi_shim.api.argument import Argument
from nnapi_shim.api.arrays import DTYPES, Array
from nnapi_shim.api.quantization import quantize
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.quantization import QUANTIZED_RANGE, SCALARS
from nnapi_shim.hal.types import is_known
from nnapi_shim.units import count

STDIN = "-"
KINDS = {".npy": "npy", ".npz": "npz", ".json": "json", ".csv": "csv", ".bin": "raw"}
"""Suffix -> kind of file; files with other suffixes are pictures."""
PICTURE = "picture"

_MAGIC = {
    b"\x93NUMPY": "npy",
    b"PK": "npz",
    b"\x89PNG": PICTURE,
    b"\xff\xd8\xff": PICTURE,
    b"GIF8": PICTURE,
    b"BM": PICTURE,
    b"RIFF": PICTURE,
    b"II*\0": PICTURE,
    b"MM\0*": PICTURE,
}
"""First bytes of stdin -> kind."""


@dataclass(frozen=True)
class InputFile:
    """The content of a file. path: for messages; kind: a value of KINDS, or PICTURE."""

    path: str
    kind: str
    content: bytes

    def arrays(self) -> Array | dict[str, Array] | None:
        """An array, or arrays by name; None for a picture and for raw bytes."""
        if self.kind in ("npy", "npz"):
            return self._of_numpy()
        if self.kind == "json":
            return self._of_json()
        return self._of_csv() if self.kind == "csv" else None

    def input(self, array: Array | None, argument: Argument, exactly: bool = True) -> Array:
        """The array as an input; None: the raw bytes of the file. exactly: whether other dimensions
        than the declared ones are refused.
        """
        if array is None:
            array = self._of_bytes(argument, exactly)
        if self.kind in ("raw", "csv") or (self.kind == "json" and array.ndim == 1):
            array = _shaped(array, argument)
        if self.kind in ("json", "csv"):
            array = _typed(array, argument, self.path)
        if not exactly:
            return quantized_if_real(array, argument)
        return fitted(array, argument, self.path)

    def _of_numpy(self) -> Array | dict[str, Array]:
        from zipfile import BadZipFile

        try:
            loaded = np.load(io.BytesIO(self.content), allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            return {name: loaded[name] for name in loaded.files}
        except (ValueError, EOFError, BadZipFile, KeyError, AttributeError, TypeError) as error:
            raise bad_data(
                f"{self.path} is no file of numpy: {short(error)}", "tool.inputs.not-numpy"
            ) from None

    def _of_json(self) -> Array | dict[str, Array]:
        try:
            value = json.loads(self.content)
            if isinstance(value, dict):
                return {name: _numbers(item) for name, item in value.items()}
            return _numbers(value)
        except (ValueError, RecursionError) as error:
            raise bad_data(
                f"{self.path} is no JSON with numbers: {short(error)}; it must be nested lists, or "
                "an object with a list for each input",
                "tool.inputs.json",
            ) from None

    def _of_csv(self) -> Array:
        lines = self.content.decode("utf-8", "replace").splitlines()
        rows = [line for line in lines if line.strip() and not line.startswith("#")]
        for first in (0, 1):  # the first row may be a heading
            try:
                table = [[_number(word) for word in row.split(",")] for row in rows[first:]]
                if table:
                    return _numbers(table)
            except ValueError as error:
                problem = short(error)
        raise bad_data(
            f"{self.path} is no table of numbers with commas: {problem if rows else 'it is empty'}",
            "tool.inputs.csv",
        )

    def _of_bytes(self, argument: Argument, exactly: bool) -> Array:
        dtype = DTYPES.get(argument.type)
        size, length = 0 if dtype is None else dtype.itemsize, len(self.content)
        is_open = not exactly or not is_known(argument.type, argument.dimensions)
        elements = 0 if is_open else int(np.prod(argument.dimensions))
        if dtype is None or (length % size if is_open else length != elements * size):
            wanted = f"elements of {count(size, 'byte')}"
            if not is_open:
                wanted = f"{count(elements * size, 'byte')}, {elements} {wanted}"
            raise bad_data(
                f"{self.path} has {count(length, 'byte')}; {argument.type.name}"
                f"{shown(argument.dimensions)} takes {wanted}",
                "tool.inputs.raw-bytes",
            )
        return np.frombuffer(self.content, dtype)


def opened(path: str) -> InputFile:
    """Read a file; `-`: stdin, whose kind its content tells. Raises OSError."""
    if path != STDIN:
        file = InputFile(path, KINDS.get(Path(path).suffix.lower(), PICTURE), _read(path))
    else:
        content = b"" if sys.stdin is None else sys.stdin.buffer.read()
        file = InputFile("stdin", _kind_of(content), content)
    if not file.content and file.kind != "raw":  # an input may have no elements
        raise bad_data(f"{file.path} is empty", "file.empty")
    return file


def _read(path: str) -> bytes:
    return Path(path).read_bytes()


def _kind_of(content: bytes) -> str:
    for magic, kind in _MAGIC.items():
        if content.startswith(magic):
            return kind
    try:
        text = content.decode("ascii").strip()
    except UnicodeDecodeError:
        return "raw"
    if text[:1] in ("[", "{"):
        return "json"
    return "csv" if (text and text.isprintable()) or "\n" in text else "raw"


def _number(word: str) -> int | float:
    try:
        return int(word)
    except ValueError:
        return float(word)


def _numbers(value: Any) -> Array:
    """Nested lists as an array; raises ValueError for anything but numbers."""
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise ValueError("not all of it is numbers")
    return array


def _typed(array: Array, argument: Argument, what: str) -> Array:
    """Numbers of a text in the type of the input; floats for a quantized input stay."""
    dtype = DTYPES.get(argument.type)
    if dtype is None or (array.dtype.kind == "f" and argument.type in QUANTIZED_RANGE):
        return array
    with np.errstate(all="ignore"):
        result = array.astype(dtype)
    is_exact = dtype.kind == "f" or np.array_equal(result.astype(array.dtype), array)
    if not is_exact:
        raise bad_data(
            f"{what} has numbers that {argument.type.name} does not hold", "tool.inputs.range"
        )
    return result


def _shaped(array: Array, argument: Argument) -> Array:
    """Elements in the dimensions of the input, one of which may be unknown, if they fill them."""
    sizes = [size or -1 for size in argument.dimensions]
    known = int(np.prod([size for size in sizes if size > 0]))
    fills = array.size == known if -1 not in sizes else known and array.size % known == 0
    return array.reshape(sizes) if sizes and fills and sizes.count(-1) <= 1 else array


def fitted(array: Array, argument: Argument, what: str) -> Array:
    """An array converted to an input's type and dimensions. Raises BAD_DATA if it cannot be."""
    declared = argument.dimensions
    scalar = argument.type in SCALARS and array.size == 1
    if scalar:
        array = array.reshape(())
    elif declared and not (
        len(array.shape) == len(declared)
        and all(size in (0, actual) for size, actual in zip(declared, array.shape, strict=True))
    ):
        raise bad_data(
            f"{what} has dimensions {list(array.shape)}; the input has {shown(declared)}",
            "tool.inputs.dimensions",
        )
    return quantized_if_real(array, argument)


def quantized_if_real(array: Array, argument: Argument) -> Array:
    """An array in the type of an input: real numbers for a quantized one are quantized."""
    is_real = array.dtype.kind == "f" and argument.type in QUANTIZED_RANGE
    return quantized(array, argument) if is_real else array


def quantized(array: Array, argument: Argument) -> Array:
    """The numbers of a quantized input for real numbers, as nnapi_shim.quantize makes them."""
    if np.isnan(array).any():
        raise bad_data("not a number cannot be quantized", "tool.inputs.nan")
    return quantize(array, argument.scale, argument.zero_point, argument.type)


def shown(dimensions: Sequence[int]) -> str:
    """Dimensions in a message, `?` for an unknown one."""
    return f"[{', '.join(str(size) if size else '?' for size in dimensions)}]"


def short(error: BaseException) -> str:
    """The text of a foreign exception in one short line."""
    return " ".join(str(error).split())[:200]
