"""The objects that are alive, those that were freed, and numbers that never were objects."""

import ctypes
import random
from collections import deque
from typing import Any


class Pool:
    """Handles by kind; each with what the one who made it knows about it."""

    KINDS = (
        "Model",
        "Compilation",
        "Execution",
        "Burst",
        "Event",
        "Memory",
        "MemoryDesc",
        "Device",
    )

    def __init__(self) -> None:
        self._live: dict[str, list[int]] = {kind: [] for kind in self.KINDS}
        self._kinds: dict[int, str] = {}
        self._about: dict[int, Any] = {}
        self._freed: dict[str, deque[int]] = {kind: deque(maxlen=50) for kind in self.KINDS}
        self._heap = ctypes.create_string_buffer(256)

    def add(self, kind: str, handle: int, about: Any = None) -> None:
        """An object that the library has given."""
        self._about[handle] = about
        self._kinds[handle] = kind
        self._live[kind].append(handle)

    def freed(self, kind: str, handle: int) -> None:
        """The handle was given to the free function of a kind; if it was one, it is none now."""
        if self._kinds.get(handle) == kind and self._kinds.pop(handle, None):
            self._live[kind].remove(handle)
            self._freed[kind].append(handle)
            self._about.pop(handle, None)

    def about(self, handle: int) -> Any:
        """What is known about an object; None when it is gone."""
        return self._about.get(handle)

    def live(self, kind: str) -> list[int]:
        """The objects of a kind that are alive."""
        return list(self._live[kind])

    def size(self, kind: str) -> int:
        """How many of them there are."""
        return len(self._live[kind])

    def pick(self, rng: random.Random, kind: str) -> int | None:
        """A live object; None where there is none."""
        live = self._live[kind]
        try:
            return live[int(rng.random() * len(live))] if live else None
        except IndexError:  # another thread has freed some
            return None

    def wrong(self, rng: random.Random, kind: str) -> int | None:
        """What is no object of this kind, or another one that is."""
        way = rng.randrange(6)
        if way == 0:
            return None
        if way == 1 and self._freed[kind]:
            return rng.choice(tuple(self._freed[kind]))
        if way == 2:
            return self.pick(rng, rng.choice(self.KINDS))
        if way == 3:
            return ctypes.addressof(self._heap) + rng.randrange(256)
        if way == 4:
            good = self.pick(rng, kind) or 1
            return good ^ (1 << rng.randrange(64))
        return self.pick(rng, kind) or rng.getrandbits(64)
