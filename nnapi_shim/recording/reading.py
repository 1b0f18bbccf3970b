"""Captures as they are read: the calls, in the order in which they began, and their contents.

Whatever a file holds, reading it takes memory in proportion to its size, and ends with a capture or
one NnapiError.
"""

import json
import zipfile
from binascii import crc32
from collections.abc import Iterator
from math import prod
from os import PathLike
from pathlib import Path
from struct import unpack_from
from typing import TYPE_CHECKING, Any, NamedTuple

from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.recording import container

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LOCAL_BYTES = 30
_DESCRIPTOR_BYTES = 16
_ITEM_BYTES = {
    "<f4": 4,
    "<f2": 2,
    "<i4": 4,
    "<u4": 4,
    "<i2": 2,
    "<u2": 2,
    "|i1": 1,
    "|u1": 1,
    "|b1": 1,
}
"""What contents consist of."""


class Call(NamedTuple):
    """A call of the program.

    number: from 1, in the order in which calls began. thread: number of the thread.
    start, end: CLOCK_MONOTONIC in ns; end is None for a call that the program died in.
    arguments: by name, as vocabulary.py says. results: what variables of the program then held.
    result: the result code; None for functions without one, and if there is no end.
    error: the message of a call that failed.
    inputs, outputs: contents of the arguments of a computation; `of`: the execution that the
        outputs are of. memories: contents before and after the call. size: of a memory that was
        made of a buffer of another library, 0 if nobody can tell.
    """

    number: int
    function: str
    thread: int
    start: int
    end: int | None
    arguments: dict[str, Any]
    result: int | None
    error: str
    results: dict[str, Any]
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    of: str
    memories: list[dict[str, Any]]
    memories_after: list[dict[str, Any]]
    size: int

    @property
    def short(self) -> str:
        """The function's name without what all begin with: Model_create."""
        return self.function.removeprefix("ANeuralNetworks")


class Capture:
    """A capture that was read.

    manifest: what is known of the program. calls: all of them. is_complete: whether the program
    ended by itself; else the capture ends where the program, or the disk, did.
    """

    def __init__(self, path: str, members: dict[str, memoryview | bytes]) -> None:
        self.path = path
        self._members = members
        self.manifest = self._json(container.MANIFEST)
        _check_version(path, self.manifest)
        self.is_complete = container.END in members
        self.calls = self._calls()

    def data(self, said: Any) -> bytes:
        """The bytes of contents that a call has; raises BAD_DATA for what contradicts itself."""
        if not isinstance(said, dict):
            raise bad_data(f"{self.path}: contents are missing", "missing")
        dtype, shape = self._kind(said)
        if isinstance(said.get("hex"), str):
            try:
                data = bytes.fromhex(said["hex"])
            except ValueError:
                raise bad_data(f"{self.path}: contents are no digits", "digits") from None
        else:
            data = self._array(str(said.get("array")), dtype, shape)
        if len(data) != prod(shape) * _ITEM_BYTES[dtype]:
            raise bad_data(f"{self.path}: contents of {len(data)} bytes are said to be {shape}")
        return data

    def array(self, said: Any) -> "NDArray[Any]":
        """The same as a numpy array, which cannot be written to."""
        import numpy as np

        dtype, shape = self._kind(said)
        return np.frombuffer(self.data(said), np.dtype(dtype)).reshape(shape)

    def _kind(self, said: dict[str, Any]) -> tuple[str, tuple[int, ...]]:
        dtype, shape = said.get("dtype"), said.get("shape")
        if dtype not in _ITEM_BYTES or not isinstance(shape, list) or not _are_sizes(shape):
            raise bad_data(f"{self.path}: contents are of no type that captures have")
        return dtype, tuple(shape)

    def _array(self, name: str, dtype: str, shape: tuple[int, ...]) -> bytes:
        found = self._members.get(name)
        if found is None:
            raise bad_data(f"{self.path} has no {name}, which a call names", "missing")
        head, _ = container.npy(dtype, shape, b"")
        if bytes(found[: len(head)]) != head:
            raise bad_data(f"{self.path}: {name} is not the array that a call says it is")
        return bytes(found[len(head) :])

    def _json(self, name: str) -> dict[str, Any]:
        try:
            found = json.loads(bytes(self._members.get(name, b"")))
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise bad_data(f"{self.path} is no capture: it has no {name}, or not a whole one")
        return found

    def _calls(self) -> list[Call]:
        begun: dict[int, dict[str, Any]] = {}
        for name in sorted(name for name in self._members if name.startswith("calls-")):
            for number, line in enumerate(bytes(self._members[name]).split(b"\n"), 1):
                if not line:
                    continue
                entry = _entry(line)
                if entry is None:
                    if not self.is_complete:  # the line that the program died in
                        continue
                    raise bad_data(f"{self.path}: line {number} of {name} is no call")
                before = begun.setdefault(entry["call"], entry)
                if before is not entry:
                    if "memories" in entry:
                        entry["memories_after"] = entry.pop("memories")
                    before.update(entry)
        calls = (_call(entry) for _, entry in sorted(begun.items()))
        return [call for call in calls if call is not None]


def _are_sizes(shape: list[Any]) -> bool:
    return all(type(size) is int and 0 <= size < 1 << 40 for size in shape) and len(shape) <= 1024


def _check_version(path: str, manifest: dict[str, Any]) -> None:
    if manifest.get("format") != container.FORMAT:
        raise bad_data(f"{path} is no capture: its {container.MANIFEST} says nothing of that")
    version = manifest.get("version")
    if type(version) is not int or version < 1:
        raise bad_data(f"{path} has a format version of {version!r}, which is none", "no_version")
    if version > container.VERSION:
        raise bad_data(
            f"{path} is of format version {version}; this nnapi_shim reads up to "
            f"{container.VERSION}, so a later one is needed",
            "version",
        )


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_call = isinstance(entry, dict) and type(entry.get("call")) is int
    return entry if is_call else None


def _call(entry: dict[str, Any]) -> Call | None:
    """None for the end of a call that has no beginning."""

    def given(name: str, kind: type[Any], default: Any) -> Any:
        value = entry.get(name, default)
        return value if isinstance(value, kind) else default

    if not isinstance(entry.get("function"), str):
        return None
    lists = (
        [item for item in given(name, list, []) if isinstance(item, dict)]
        for name in ("inputs", "outputs", "memories", "memories_after")
    )
    inputs, outputs, before, after = lists
    return Call(
        entry["call"],
        entry["function"],
        given("thread", int, 0),
        given("start", int, 0),
        given("end", int, None),
        given("arguments", dict, {}),
        given("result", int, None),
        given("error", str, ""),
        given("results", dict, {}),
        inputs,
        outputs,
        given("of", str, ""),
        before,
        after,
        given("size", int, 0),
    )


def read(path: str | PathLike[str]) -> Capture:
    """The capture in a file.

    Raises BAD_DATA for a file that is none, that contradicts itself or is of a later version;
    OSError where there is no such file.
    """
    name = str(path)
    try:
        data = Path(path).read_bytes()
        return Capture(name, _members(name, data))
    except NnapiError as error:
        raise error.again() from None


def is_capture(head: bytes) -> bool:
    """Whether a file that begins with these bytes (64 are enough) may be a capture."""
    name = container.MANIFEST.encode()
    return head[:4] == container.LOCAL and head[_LOCAL_BYTES : _LOCAL_BYTES + len(name)] == name


def _members(path: str, data: bytes) -> dict[str, memoryview | bytes]:
    if not data.startswith(container.LOCAL):
        raise bad_data(f"{path} is no capture: it does not begin as a zip archive does")
    found = _by_directory(path, data)
    return dict(_forward(data)) if found is None else found


def _by_directory(path: str, data: bytes) -> dict[str, memoryview | bytes] | None:
    """The members of an archive that is whole; None where the directory is missing."""
    from io import BytesIO

    members: dict[str, memoryview | bytes] = {}
    total = 0
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            for item in archive.infolist():
                if item.compress_type != zipfile.ZIP_STORED:
                    told = f"{path}: {item.filename} is compressed; captures are stored"
                    raise bad_data(told, "compressed")
                total += item.file_size
                if total > len(data):  # members that lie over each other
                    raise bad_data(f"{path} is said to have more in it than the file is large")
                members[item.filename] = archive.read(item)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, RuntimeError):
        return None
    return members


def _forward(data: bytes) -> Iterator[tuple[str, memoryview]]:
    """The members in front of where an archive ends too early, as their own headers tell."""
    at, view = 0, memoryview(data)
    while data.startswith(container.LOCAL, at) and at + _LOCAL_BYTES <= len(data):
        (flags,) = unpack_from("<H", data, at + 6)
        length, _, name_length, extra = unpack_from("<2L2H", data, at + 18)
        name = data[at + _LOCAL_BYTES : at + _LOCAL_BYTES + name_length].decode(errors="replace")
        start = at + _LOCAL_BYTES + name_length + extra
        if flags & container.STREAMED:
            end = _end_of_stream(data, start)
            at = end + _DESCRIPTOR_BYTES
        else:
            at = end = start + length
        if end > len(data):
            return  # a member that is there in part; of lines of calls, that is told by its end
        yield name, view[start:end]


def _end_of_stream(data: bytes, start: int) -> int:
    """Where a member ends that says so behind itself; at the end of the file if it does not."""
    at, done, so_far = start, start, 0
    while True:
        at = data.find(container.DESCRIPTOR, at)
        if at < 0 or at + _DESCRIPTOR_BYTES > len(data):
            return len(data)
        so_far, done = crc32(memoryview(data)[done:at], so_far), at
        total, length, _ = unpack_from("<3L", data, at + 4)
        if length == at - start and total == so_far:
            return at
        at += 1
