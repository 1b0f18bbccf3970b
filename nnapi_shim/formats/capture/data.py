"""The input and output data of a capture's calls, for the program that replays them."""

from typing import Any

from nnapi_shim.recording.reading import Capture

_ALIGNMENT = 64

NO_FOLDER = "/dev/null/none"
"""The cache folder in a replay: it does not exist, so a replay writes no cache."""


class Data:
    """The contents that calls need, concatenated and deduplicated."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._offsets: dict[tuple[Any, ...], int] = {}
        self._parts: list[bytes] = []
        self._length = 0

    def locate(self, contents: dict[str, Any]) -> tuple[int, int]:
        """The offset and the length of contents, which are added if new."""
        data = self._capture.data(contents)
        key = contents.get("array"), contents.get("hex"), len(data)
        if key not in self._offsets:
            self._offsets[key] = self._length
            padded = data + bytes(-len(data) % _ALIGNMENT)
            self._parts.append(padded)
            self._length += len(padded)
        return self._offsets[key], len(data)

    def bytes(self) -> bytes:
        """All contents."""
        return b"".join(self._parts)
