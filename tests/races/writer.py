"""The racing writer of writer.c, and memory whose surroundings tell whether they are read."""

import ctypes
import mmap
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tests.drivers.cpu.guard_pages import Guarded

MARKER = 0xDE
"""Every byte around an input; no input contains four of them in a row."""


class Marked:
    """`data` in the middle of pages full of MARKER: who reads outside brings it along."""

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        inside = -(-max(self.size, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        self._around = 16 * mmap.PAGESIZE
        self._memory = mmap.mmap(-1, inside + 2 * self._around)
        self._memory.write(bytes([MARKER]) * len(self._memory))
        self._view = (ctypes.c_char * len(self._memory)).from_buffer(self._memory)
        self.address = ctypes.addressof(self._view) + self._around
        ctypes.memmove(self.address, data, self.size)


Memory = Guarded | Marked


class Race(NamedTuple):
    """Memory and what is written to it in turn."""

    memory: Memory
    legal: bytes
    wild: bytes


class _Target(ctypes.Structure):
    _fields_ = (
        ("memory", ctypes.c_void_p),
        ("legal", ctypes.c_char_p),
        ("wild", ctypes.c_char_p),
        ("length", ctypes.c_size_t),
    )


class Writer:
    """The compiled writer; one race at a time."""

    def __init__(self) -> None:
        with TemporaryDirectory() as folder:
            library = Path(folder, "writer.so")
            source = Path(__file__).with_name("writer.c")
            command = ["cc", "-O2", "-shared", "-fPIC", "-pthread", source, "-o", library]
            subprocess.run(command, check=True)
            self._library: Any = ctypes.CDLL(str(library))
        self._library.race_end.restype = ctypes.c_ulong
        self.rounds = 0

    @contextmanager
    def racing(self, races: Sequence[Race]) -> Iterator[None]:
        """Write while the block runs; afterwards the legal contents are there."""
        targets = (_Target * max(1, len(races)))(
            *(_Target(r.memory.address, r.legal, r.wild, len(r.legal)) for r in races)
        )
        assert self._library.race_begin(targets, ctypes.c_size_t(len(races))) == 0
        try:
            yield
        finally:
            self.rounds += self._library.race_end()
