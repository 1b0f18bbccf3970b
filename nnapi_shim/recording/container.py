"""The file of a capture: a zip archive that is written sequentially.

Members are stored uncompressed and written at once: lines of calls in members with a data
descriptor (length after the data), arrays as separate members between them. The file of a killed
program lacks only the central directory, and can be read sequentially. The module zipfile is not
used, as it seeks, and numpy may not be installed; the headers of both formats are a few bytes.
"""

import os
from binascii import crc32
from collections.abc import Sequence
from struct import pack

FORMAT = "nnapi-shim-capture"
VERSION = 1
"""Version of the format; readers refuse a later one."""

MANIFEST = "manifest.json"
END = "end.json"
"""The last member of a complete capture."""
CALLS = "calls-{:06d}.jsonl"
ARRAYS = "arrays/{}.npy"

LOCAL, DESCRIPTOR, CENTRAL, DIRECTORY_END = b"PK\3\4", b"PK\7\x08", b"PK\1\2", b"PK\5\6"
STREAMED = 0x8
"""Flag of a member with a data descriptor."""
_UTF8 = 0x800
_NAME_AT = 30
"""Offset of the name of the first member."""
_NEEDED = 20
"""Version 2.0 of the zip format."""
_DATE = (1 << 5) | 1
"""1980-01-01; calls have their own times."""
_MOST = 0xFFFFFFFF
_MANY_MEMBERS = 0xFFFF
_END_64, _LOCATOR_64 = b"PK\6\6", b"PK\6\7"


class Full(Exception):  # noqa: N818 (no error of the capture: what it holds is whole)
    """The file is full: its limit is 4 GiB."""


def is_capture(beginning: bytes) -> bool:
    """Whether a file that begins with these bytes is a capture, complete or truncated."""
    return beginning.startswith(LOCAL) and beginning[_NAME_AT:].startswith(MANIFEST.encode())


def npy(dtype: str, shape: Sequence[int], data: bytes) -> tuple[bytes, bytes]:
    """An array in the npy format 1.0: header and contents."""
    sizes = "".join(f"{size}, " for size in shape)
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({sizes.rstrip()}), }}"
    padded = head + " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + pack("<H", len(padded)) + padded.encode(), data


class Writer:
    """Writes a capture to a descriptor of an empty file, which it owns.

    Not thread-safe. Raises OSError for failed writes, and Full.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._at = 0
        self._members: list[tuple[bytes, int, int, int, int]] = []
        """Name, flags, checksum, length and offset of each member."""
        self._open: tuple[bytes, int] | None = None
        """Name and offset of the open member of calls."""
        self._sum, self._length, self._parts = 0, 0, 0

    def line(self, text: bytes) -> None:
        """A line of a call, without its end."""
        if self._open is None:
            self._parts += 1
            name = CALLS.format(self._parts).encode()
            self._reserve(len(text))
            self._open = name, self._at
            self._sum = self._length = 0
            self._write(_local(name, STREAMED, 0, 0))
        elif self._at + len(text) > _MOST - (1 << 24):
            raise Full
        data = text + b"\n"
        self._write(data)
        self._sum, self._length = crc32(data, self._sum), self._length + len(data)

    def member(self, name: str, *parts: bytes) -> None:
        """Write a whole member."""
        self._close_calls()
        length, total = sum(map(len, parts)), 0
        self._reserve(length)
        for part in parts:
            total = crc32(part, total)
        encoded = name.encode()
        self._members.append((encoded, 0, total, length, self._at))
        self._write(_local(encoded, 0, total, length), *parts)

    def close(self, last: bytes) -> None:
        """Write the last member, END, and the directory."""
        self.member(END, last)
        start, entries = self._at, []
        for name, flags, total, length, position in self._members:
            head = pack(
                "<4s6H3L5H2L",
                *(CENTRAL, _NEEDED, _NEEDED, flags | _UTF8, 0, 0, _DATE, total, length, length),
                *(len(name), 0, 0, 0, 0, 0, position),
            )
            entries.append(head + name)
        directory = b"".join(entries)
        length, count = len(directory), len(entries)
        ends = []
        if count >= _MANY_MEMBERS:  # zip64 record, before the end record
            ends += [
                pack("<4sQ2H2L4Q", _END_64, 44, 45, 45, 0, 0, count, count, length, start),
                pack("<4sLQL", _LOCATOR_64, 0, start + length, 1),
            ]
            count = _MANY_MEMBERS
        ends.append(pack("<4s4H2LH", DIRECTORY_END, 0, 0, count, count, length, start, 0))
        self._write(directory, *ends)

    def _close_calls(self) -> None:
        if self._open is None:
            return
        name, position = self._open
        self._open = None
        self._members.append((name, STREAMED, self._sum, self._length, position))
        self._write(pack("<4s3L", DESCRIPTOR, self._sum, self._length, self._length))

    def _reserve(self, length: int) -> None:
        """Raise Full if a member would leave no room for the directory."""
        directory = (len(self._members) + 4) * 128
        if self._at + length + directory > _MOST - (1 << 24):
            raise Full

    def _write(self, *parts: bytes) -> None:
        for data in parts:
            rest = memoryview(data)
            while rest:
                written = os.write(self._fd, rest)
                self._at += written
                rest = rest[written:]


def _local(name: bytes, flags: int, total: int, length: int) -> bytes:
    head = pack(
        "<4s5H3L2H",
        *(LOCAL, _NEEDED, flags | _UTF8, 0, 0, _DATE, total, length, length, len(name), 0),
    )
    return head + name
