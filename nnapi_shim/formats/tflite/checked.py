"""Reads flatbuffer tables from untrusted files.

flatbuffers reads through slices of bytes, so no read goes beyond the file. This module adds the
location to each error, checks a vector's length against the file size before it allocates, and
bounds how many bytes a file can make the reader process.
"""

import struct
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from nnapi_shim.errors import NnapiError, bad_data

T = TypeVar("T")

DAMAGED = (struct.error, IndexError, ValueError, TypeError, OverflowError, AttributeError)
"""Errors of the generated classes for invalid offsets, lengths or texts."""

SHARING = 16
"""The average number of reads per byte of the file: a bound for shared tables and vectors.
Operators that share nothing are read about ten times.
"""


class Reader:
    """Reads the generated tables of one file; every refusal names a location in it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._left = SHARING * len(data) + (1 << 16)

    def call(self, location: str, get: Callable[..., T], *arguments: Any) -> T:
        """The result of a getter of a generated class."""
        try:
            result = get(*arguments)
        except NnapiError:
            raise
        except DAMAGED:
            raise bad_data(
                f"{location}: an offset points outside the file", "import.tflite.file.offset"
            ) from None
        if hasattr(result, "_tab"):
            self._check_table(location, result)
        return result

    def _check_table(self, location: str, table: Any) -> None:
        """Check that a table and its vtable lie in the file."""
        self._check_at(location, table._tab.Pos)

    def _check_at(self, location: str, start: int) -> None:
        data = self.data
        lies = not 4 <= start <= len(data) - 4
        if not lies:
            fields = start - struct.unpack_from("<i", data, start)[0]
            lies = not 0 <= fields <= len(data) - 4
            lies = lies or fields + struct.unpack_from("<H", data, fields)[0] > len(data)
        if lies:
            raise bad_data(
                f"{location}: an offset points outside the file", "import.tflite.file.offset"
            )
        self.spend(location, 32)

    def slots(self, location: str, table: Any) -> list[int]:
        """The offset of each field of a table, in schema order; 0 for an absent field. Trailing
        absent fields are left out.

        table: a table of a generated class, or a plain flatbuffers.Table of a union.
        """
        start = getattr(table, "_tab", table).Pos
        self._check_at(location, start)
        fields = start - struct.unpack_from("<i", self.data, start)[0]
        count = struct.unpack_from("<H", self.data, fields)[0] // 2 - 2
        self.spend(location, 2 * max(count, 0))
        return [struct.unpack_from("<H", self.data, fields + 4 + 2 * at)[0] for at in range(count)]

    def slot(self, location: str, table: Any, at: int, kind: str = "<i", default: int = 0) -> int:
        """An integer field by its position in the schema; for fields that the generated classes
        lack or read differently from the schema.

        kind: a format of the module struct.
        """
        slots = self.slots(location, table)
        if at >= len(slots) or not slots[at]:
            return default
        where = getattr(table, "_tab", table).Pos + slots[at]
        return int(self.call(location, lambda: struct.unpack_from(kind, self.data, where)[0]))

    def spend(self, location: str, count: int) -> None:
        """Count bytes that are read."""
        self._left -= count
        if self._left < 0:
            raise bad_data(
                f"{location}: its tables and vectors exceed the file size",
                "import.tflite.file.size",
            )

    def length(self, location: str, table: Any, field: str, element_bytes: int = 4) -> int:
        """The number of elements of a vector, checked against the file size."""
        count: int = self.call(f"{location}: {field}", getattr(table, f"{field}Length"))
        if count * element_bytes > len(self.data):
            raise bad_data(
                f"{location}: {field} has {count} elements, and the file {len(self.data)} bytes",
                "import.tflite.file.vector-length",
            )
        self.spend(f"{location}: {field}", count * element_bytes)
        return count

    def array(self, location: str, table: Any, field: str, element_bytes: int = 4) -> Any:
        """A vector of numbers as a numpy array that shares the memory of the file."""
        if not self.length(location, table, field, element_bytes):
            return np.empty(0, np.uint8)
        result = self.call(f"{location}: {field}", getattr(table, f"{field}AsNumpy"))
        if not isinstance(result, np.ndarray):
            raise bad_data(f"{location}: {field} is missing", "import.tflite.file.missing-field")
        return result

    def numbers(
        self, location: str, table: Any, field: str, element_bytes: int = 4
    ) -> tuple[Any, ...]:
        """A vector of numbers."""
        return tuple(self.array(location, table, field, element_bytes).tolist())

    def tables(self, location: str, table: Any, field: str) -> list[Any]:
        """A vector of tables; `location` is that of the containing table."""
        count = self.length(location, table, field)
        get = getattr(table, field)
        result = [self.call(f"{location}: {field} {at}", get, at) for at in range(count)]
        if any(item is None for item in result):
            raise bad_data(
                f"{location}: {field} has missing entries",
                "import.tflite.file.missing-table",
            )
        return result

    def text(self, location: str, value: bytes | None) -> str:
        """A text; invalid UTF-8 is replaced."""
        if value is None:
            return ""
        self.spend(location, len(value))
        return value.decode("utf-8", "replace")

    def fields(self, location: str, table: Any) -> dict[str, Any]:
        """All fields of a table of plain values, by getter name: numbers, booleans, texts, and
        tuples of numbers.
        """
        methods = [name for name in vars(type(table)) if name[0].isupper()]
        vectors = {name.removesuffix("Length") for name in methods if name.endswith("Length")}
        helpers = tuple(f"{v}{end}" for v in vectors for end in ("Length", "AsNumpy", "IsNone"))
        values: dict[str, Any] = {}
        for name in methods:
            if name in helpers or name == "Init" or "GetRootAs" in name or "BufferHas" in name:
                continue
            if name in vectors:
                if f"{name}AsNumpy" in methods:
                    values[name] = self.numbers(location, table, name)
                continue
            value = self.call(f"{location}: {name}", getattr(table, name))
            if isinstance(value, bytes):
                value = self.text(location, value)
            if isinstance(value, bool | int | float | str):
                values[name] = value
        return values
