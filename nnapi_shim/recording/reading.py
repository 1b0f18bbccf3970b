"""Reads captures: the calls, in the order in which they began, and their contents.

For any file, reading takes memory in proportion to its size, and results in a valid capture
(checking.py) or one NnapiError.
"""

import json
import re
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.recording import arrays, container
from nnapi_shim.recording.checking import Call, Checker, shown
from nnapi_shim.recording.members import members_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Call", "Capture", "read"]

_LONGEST_NAME = 1000
_CALLS = re.compile(r"calls-([0-9]{6,12})\.jsonl", re.ASCII)


class Capture:
    """A capture.

    manifest: facts about the program. devices: names of its devices, in the order of their handles.
    program: its command line. calls: all calls. is_complete: False if the capture is truncated, as
    the program was killed or the disk was full.
    """

    def __init__(self, path: str, members: dict[str, memoryview | bytes]) -> None:
        self.path = path
        self._members = members
        self.manifest = self._json(container.MANIFEST)
        _check_version(path, self.manifest)
        self.devices = self._devices()
        self.program = self._program()
        self.is_complete = container.END in members
        checker = Checker(path, members, len(self.devices))
        self.calls = [checker.call(entry) for _, entry in sorted(self._entries().items())]

    def data(self, said: dict[str, Any]) -> bytes:
        """The bytes of contents of a call."""
        return arrays.data_of(said, self._members)

    def array(self, said: dict[str, Any]) -> "NDArray[Any]":
        """The contents as a read-only numpy array."""
        import numpy as np

        return np.frombuffer(self.data(said), np.dtype(said["dtype"])).reshape(said["shape"])

    def _json(self, name: str) -> dict[str, Any]:
        try:
            content = json.loads(bytes(self._members.get(name, b"")))
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise bad_data(
                f"{self.path} is no capture: it has no {name}, or not a whole one",
                "capture.unreadable",
            )
        return content

    def _devices(self) -> list[str]:
        listed = self.manifest.get("devices", [])
        is_list = isinstance(listed, list) and all(isinstance(item, dict) for item in listed)
        if not is_list or not all(_is_line(item.get("name")) for item in listed):
            message = f"devices of {container.MANIFEST} are to be a list of objects with a name"
            raise bad_data(f"{self.path}: {message}, a line of text", "capture.devices")
        return [str(item["name"]) for item in listed]

    def _program(self) -> list[str]:
        words = self.manifest.get("program", [])
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            message = f"program of {container.MANIFEST} is to be a list of texts"
            raise bad_data(f"{self.path}: {message}", "capture.program")
        return words

    def _entries(self) -> dict[int, dict[str, Any]]:
        """Number of a call -> the fields of its lines."""
        entries: dict[int, dict[str, Any]] = {}
        parts = {int(match[1]): name for name in self._members if (match := _CALLS.fullmatch(name))}
        for part, name in sorted(parts.items()):
            for number, line in enumerate(bytes(self._members[name]).split(b"\n"), 1):
                if not line:
                    continue
                entry = _entry(line)
                if entry is None:
                    if not self.is_complete and part == max(parts):
                        break  # the line that was being written when the program died
                    raise bad_data(
                        f"{self.path}: line {number} of {name} is no call", "capture.line"
                    )
                self._add(entries, entry)
        return entries

    def _add(self, entries: dict[int, dict[str, Any]], entry: dict[str, Any]) -> None:
        """The line of a call, or of its beginning, or of its end."""
        before = entries.setdefault(entry["call"], entry)
        if before is entry:
            return
        if "function" in entry or "end" in before:
            raise bad_data(
                f"{self.path}: call {entry['call']} is there twice", "capture.call-twice"
            )
        if "memories" in entry:
            entry["memories_after"] = entry.pop("memories")
        before.update({name: value for name, value in entry.items() if name in _OF_AN_END})


_OF_AN_END = ("end", "result", "error", "results", "outputs", "of", "memories_after", "faults")
"""The fields of the line that ends a call."""


def _is_line(name: Any) -> bool:
    return isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable()


def _check_version(path: str, manifest: dict[str, Any]) -> None:
    if manifest.get("format") != container.FORMAT:
        raise bad_data(
            f"{path} is no capture: its {container.MANIFEST} says nothing of that",
            "capture.manifest",
        )
    version = manifest.get("version")
    if type(version) is not int or version < 1:
        message = f"{path} has a format version of {shown(version)}, which is none"
        raise bad_data(message, "capture.no-version")
    if version > container.VERSION:
        raise bad_data(
            f"{path} is of format version {shown(version)}; this nnapi_shim reads up to "
            f"{container.VERSION}, so a later one is needed",
            "capture.version",
        )


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_call = isinstance(entry, dict) and type(entry.get("call")) is int
    return entry if is_call else None


def read(path: str | PathLike[str]) -> Capture:
    """The capture in a file.

    Raises BAD_DATA for a file that is no capture, has invalid calls, or is of a later version;
    OSError if there is no such file.
    """
    name = str(path)
    try:
        data = Path(path).read_bytes()
        return Capture(name, members_of(name, data))
    except NnapiError as error:
        raise error.again() from None
