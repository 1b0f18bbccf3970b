"""Reads protobuf messages from untrusted files, by tables of their fields.

Bytes are views of the file, and numbers are converted in blocks. The number of messages is bounded
by the size of the file, and their nesting by a constant.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import NnapiError, bad_data

DEEPEST = 100
"""The deepest nesting of messages, as in the libraries of protobuf."""

ALWAYS, BYTES_EACH = 200_000, 24
"""The messages that a file of any size may have; each one more takes this many bytes of it."""

BLOCK = 1 << 20
"""The bytes of packed integers that are converted at a time."""


class Field(NamedTuple):
    """A field. kind: int, float, double, text, bytes, or the name of a message."""

    name: str
    kind: str
    repeated: bool = False


class Message:
    """The fields of a message; absent ones have the default of their kind.

    start, end: its bytes in the file.
    """

    __slots__ = ("_defaults", "_values", "end", "start")

    def __init__(self, defaults: Mapping[str, Any], start: int, end: int) -> None:
        self._defaults = defaults
        self._values: dict[str, Any] = {}
        self.start = start
        self.end = end

    def __getattr__(self, name: str) -> Any:
        values = self._values
        return values[name] if name in values else self._defaults[name]

    def put(self, field: Field, value: Any) -> None:
        """Set a field, or add to a repeated one."""
        if field.repeated:
            self._values.setdefault(field.name, []).append(value)
        else:
            self._values[field.name] = value


Schema = Mapping[str, Mapping[int, Field]]
"""Message -> number of a field -> field; other fields are skipped."""


class Reader:
    """Reads the messages of one file."""

    def __init__(self, data: bytes, schema: Schema) -> None:
        self._data = memoryview(data)
        self._schema = schema
        self._left = ALWAYS + len(data) // BYTES_EACH
        self._defaults = {
            kind: {f.name: () if f.repeated else _absent(f.kind) for f in fields.values()}
            for kind, fields in schema.items()
        }

    def message(self, kind: str) -> Message:
        """The whole file as one message."""
        return self._message(kind, 0, len(self._data), 0)

    def _message(self, kind: str, at: int, end: int, depth: int) -> Message:
        fields = self._schema[kind]
        result = Message(self._defaults[kind], at, end)
        if depth > DEEPEST:
            raise _damaged(at, f"messages are nested more than {DEEPEST} deep")
        self._left -= 1
        if self._left < 0:
            raise _damaged(at, f"it has too many messages for its {len(self._data)} bytes")
        while at < end:
            tag, at = self._varint(at, end)
            number, wire = tag >> 3, tag & 7
            start, stop, at = self._extent(wire, at, end)
            field = fields.get(number)
            if field is not None:
                self._read(result, field, wire, start, stop, depth)
        return result

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        value = shift = 0
        data = self._data
        while at < end and shift < 70:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value & (1 << 64) - 1, at
            shift += 7
        raise _damaged(at, "a number has no end")

    def _extent(self, wire: int, at: int, end: int) -> tuple[int, int, int]:
        """The bytes of a value, and where the next field starts."""
        if wire == 0:
            _, stop = self._varint(at, end)
            return at, stop, stop
        if wire == 2:
            size, at = self._varint(at, end)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise _damaged(at, f"wire type {wire} is unknown")
        if size > end - at:
            raise _damaged(at, f"a field of {size} bytes exceeds its message")
        return at, at + size, at + size

    def _read(
        self, into: Message, field: Field, wire: int, start: int, stop: int, depth: int
    ) -> None:
        kind = field.kind
        value: Any
        if kind == "int" and wire == 0:
            value = _signed(self._varint(start, stop)[0])
        elif kind in ("float", "double") and wire in (1, 5):
            if (wire == 1) is not (kind == "double"):
                raise _damaged(start, f"{field.name} has wire type {wire}")
            value = struct.unpack_from("<d" if wire == 1 else "<f", self._data, start)[0]
        elif wire != 2:
            raise _damaged(start, f"{field.name} has wire type {wire}")
        elif kind in ("int", "float", "double"):
            if not field.repeated:
                raise _damaged(start, f"{field.name} has wire type {wire}")
            value = self._packed(kind, start, stop)
        elif kind == "bytes":
            value = self._data[start:stop]
        elif kind == "text":
            value = bytes(self._data[start:stop]).decode("utf-8", "replace")
        else:
            value = self._message(kind, start, stop, depth + 1)
        into.put(field, value)

    def _packed(self, kind: str, start: int, stop: int) -> Array:
        if kind == "int":
            return _varints(self._data[start:stop], start)
        size = 8 if kind == "double" else 4
        if (stop - start) % size:
            raise _damaged(start, f"{stop - start} bytes are no numbers of {size} bytes")
        return np.frombuffer(self._data[start:stop], "<f8" if kind == "double" else "<f4")


def numbers(values: Sequence[Any], dtype: Any) -> Array:
    """The numbers of a repeated field: single ones and packed ones."""
    if len(values) == 1 and isinstance(values[0], np.ndarray):
        return values[0].astype(dtype, copy=False)
    parts = [np.atleast_1d(np.asarray(value, dtype)) for value in values]
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _absent(kind: str) -> Any:
    return {"int": 0, "float": 0.0, "double": 0.0, "text": "", "bytes": b""}.get(kind)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _varints(data: memoryview, at: int) -> Array:
    """Packed integers."""
    whole = np.frombuffer(data, np.uint8)
    parts, start = [], 0
    while start < whole.size:
        block = whole[start : start + BLOCK]
        ends = np.flatnonzero(block < 128)
        if not ends.size:
            raise _damaged(at, "a number has no end")
        starts = np.concatenate(([0], ends[:-1] + 1))
        lengths = ends - starts + 1
        if lengths.max() > 10:
            raise _damaged(at, "a number has no end")
        values = np.zeros(ends.size, np.uint64)
        for byte in range(int(lengths.max())):
            has = lengths > byte
            digits = (block[starts[has] + byte] & 127).astype(np.uint64)
            values[has] |= digits << np.uint64(7 * byte)
        parts.append(values.view(np.int64))
        start += int(ends[-1]) + 1
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _damaged(at: int, what: str) -> NnapiError:
    return bad_data(
        f"it is no .onnx file, or damaged at byte {at}: {what}", "import.onnx.file.damaged"
    )
