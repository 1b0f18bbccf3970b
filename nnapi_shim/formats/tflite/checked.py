"""Reads flatbuffer tables from untrusted files.

Offsets are positive and are read with bounds checks, so no read goes beyond the file. This module
adds the location to each error, checks a vector's length against the file size before it allocates,
and bounds how many bytes a file can make the reader process.
"""

import struct
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.formats.tflite.schema import Field, fields_of
from nnapi_shim.hints import NamedTuple

SHARING = 16
"""The average number of reads per byte of the file: a bound for shared tables and vectors.
Operators that share nothing are read about ten times.
"""

_unpack = {kind: struct.Struct(f"<{kind}").unpack_from for kind in "?bBhHiIqQfd"}
_offset_at = _unpack["I"]


@cache
def _dtype(kind: str) -> np.dtype[Any]:
    return np.dtype(kind)


class Table(NamedTuple):
    """A table of the file.

    slots: the offset of each field from the start, in schema order; 0 for an absent field.
    """

    fields: Mapping[str, Field]
    start: int
    slots: tuple[int, ...]

    def position(self, at: int) -> int:
        """The position of a field in the file; 0 if it is absent."""
        return self.start + self.slots[at] if at < len(self.slots) and self.slots[at] else 0


def _outside(location: str) -> NnapiError:
    return bad_data(f"{location}: an offset points outside the file", "import.tflite.file.offset")


class Reader:
    """Reads the tables of one file; every refusal names a location in it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._left = SHARING * len(data) + (1 << 16)

    def root(self, location: str, kind: str) -> Table:
        """The table that the file begins with."""
        return self._table(location, kind, _offset_at(self.data, 0)[0])

    def _table(self, location: str, kind: str, start: int) -> Table:
        """A table, which must lie in the file with its vtable."""
        data = self.data
        if not 4 <= start <= len(data) - 4:
            raise _outside(location)
        vtable = start - _unpack["i"](data, start)[0]
        if not 0 <= vtable <= len(data) - 4:
            raise _outside(location)
        size = _unpack["H"](data, vtable)[0]
        if vtable + size > len(data):
            raise _outside(location)
        count = max(size // 2 - 2, 0)
        self.spend(location, 32 + 2 * count)
        slots = struct.unpack_from(f"<{count}H", data, vtable + 4)
        return Table(fields_of(kind), start, slots)

    def get(self, location: str, table: Table, name: str) -> Any:
        """A field: a number, a text as bytes or None, a table or None."""
        at, kind, default = table.fields[name]
        where = table.position(at)
        if not where:
            return default
        data = self.data
        try:
            unpack = _unpack.get(kind)
            if unpack is not None:
                return unpack(data, where)[0]
            where += _offset_at(data, where)[0]
            if kind == "s":
                return data[where + 4 : where + 4 + _offset_at(data, where)[0]]
        except struct.error:
            raise _outside(location) from None
        return self._table(location, kind, where)

    @staticmethod
    def has(table: Table, name: str) -> bool:
        """Whether a field is there."""
        return bool(table.position(table.fields[name].at))

    def union(self, location: str, table: Table, name: str, kind: str) -> Table:
        """A field of a union, which is there, as a table of this kind."""
        where = table.position(table.fields[name].at)
        try:
            where += _offset_at(self.data, where)[0]
        except struct.error:
            raise _outside(location) from None
        return self._table(location, kind, where)

    def slot(self, location: str, table: Table, at: int, kind: str = "i", default: int = 0) -> int:
        """An integer field by its position in the schema; for fields that the tables lack or read
        differently from the schema.
        """
        where = table.position(at)
        if not where:
            return default
        try:
            return int(_unpack[kind](self.data, where)[0])
        except struct.error:
            raise _outside(location) from None

    def spend(self, location: str, count: int) -> None:
        """Count bytes that are read."""
        self._left -= count
        if self._left < 0:
            raise bad_data(
                f"{location}: its tables and vectors exceed the file size",
                "import.tflite.file.size",
            )

    def _vector(self, location: str, table: Table, name: str) -> tuple[int, int]:
        """The number of elements of a vector and where they begin; 0, 0 if it is absent."""
        where = table.position(table.fields[name].at)
        if not where:
            return 0, 0
        try:
            where += _offset_at(self.data, where)[0]
            return _offset_at(self.data, where)[0], where + 4
        except struct.error:
            raise _outside(f"{location}: {name}") from None

    def length(self, location: str, table: Table, name: str) -> int:
        """The number of elements of a vector, checked against the file size."""
        return self._checked(location, table, name)[0]

    def _checked(self, location: str, table: Table, name: str) -> tuple[int, int]:
        """As `_vector`, with the number checked and counted."""
        count, start = self._vector(location, table, name)
        if count:
            number = _unpack.get(table.fields[name].kind[1:-1])
            length = count * (
                4 if number is None else _dtype(table.fields[name].kind[1:-1]).itemsize
            )
            if length > len(self.data):
                raise bad_data(
                    f"{location}: {name} has {count} elements, and the file {len(self.data)} bytes",
                    "import.tflite.file.vector-length",
                )
            self.spend(f"{location}: {name}", length)
        return count, start

    def view(self, location: str, table: Table, name: str) -> Array:
        """A vector of numbers as an array that shares the memory of the file; not counted."""
        return self._array(location, table, name, *self._vector(location, table, name))

    def array(self, location: str, table: Table, name: str) -> Array:
        """As `view`, checked and counted."""
        return self._array(location, table, name, *self._checked(location, table, name))

    def _array(self, location: str, table: Table, name: str, count: int, start: int) -> Array:
        dtype = _dtype(table.fields[name].kind[1:-1])
        if not count:
            return np.empty(0, dtype)
        try:
            return np.frombuffer(self.data, dtype, count, start)
        except ValueError:
            raise _outside(f"{location}: {name}") from None

    def numbers(self, location: str, table: Table, name: str) -> tuple[Any, ...]:
        """A vector of numbers."""
        count, start = self._checked(location, table, name)
        try:
            kind = table.fields[name].kind[1:-1]
            return struct.unpack_from(f"<{count}{kind}", self.data, start) if count else ()
        except struct.error:
            raise _outside(f"{location}: {name}") from None

    def tables(self, location: str, table: Table, name: str) -> list[Table]:
        """A vector of tables; `location` is that of the containing table."""
        count, start = self._checked(location, table, name)
        kind = table.fields[name].kind[1:-1]
        try:
            offsets = struct.unpack_from(f"<{count}I", self.data, start) if count else ()
        except struct.error:
            raise _outside(f"{location}: {name}") from None
        return [
            self._table(f"{location}: {name} {at}", kind, start + 4 * at + offset)
            for at, offset in enumerate(offsets)
        ]

    def text(self, location: str, value: bytes | None) -> str:
        """A text; invalid UTF-8 is replaced."""
        if value is None:
            return ""
        self.spend(location, len(value))
        return value.decode("utf-8", "replace")

    def fields(self, location: str, table: Table) -> dict[str, Any]:
        """All fields of a table of plain values, by name: numbers, booleans, texts, and tuples of
        numbers.
        """
        values: dict[str, Any] = {}
        for name, field in table.fields.items():
            where = f"{location}: {name}"
            if field.kind[1:-1] in _unpack:
                values[name] = self.numbers(location, table, name)
            elif field.kind in _unpack:
                values[name] = self.get(where, table, name)
            elif field.kind == "s":
                value = self.get(where, table, name)
                if value is not None:
                    values[name] = self.text(location, value)
        return values
