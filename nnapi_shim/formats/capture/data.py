"""What the calls of a capture were given, for a program that repeats them."""

from typing import Any

from nnapi_shim.recording.reading import Capture

_ALIGNMENT = 64

NO_FOLDER = "/dev/null/none"
"""Where programs keep compiled models: a program that repeats calls leaves nothing behind."""


class Data:
    """The contents that calls need, one behind the other, each once."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._places: dict[tuple[Any, ...], int] = {}
        self._parts: list[bytes] = []
        self._length = 0

    def place(self, contents: dict[str, Any]) -> tuple[int, int]:
        """Where contents begin, and their length."""
        data = self._capture.data(contents)
        key = contents.get("array"), contents.get("hex"), len(data)
        if key not in self._places:
            self._places[key] = self._length
            padded = data + bytes(-len(data) % _ALIGNMENT)
            self._parts.append(padded)
            self._length += len(padded)
        return self._places[key], len(data)

    def bytes(self) -> bytes:
        """All of it."""
        return b"".join(self._parts)
