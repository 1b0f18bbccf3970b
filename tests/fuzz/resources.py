"""What a program has beside the API: buffers, files, hardware buffers, fences."""

import ctypes
import os
import random
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.abi.rules.capi import Desc
from tests.fuzz.recipes import pattern

FILE_NAME = "nnapi_fuzz"
FILE_BYTES = 1 << 16
INPUT_BYTES = 1 << 16
OUTPUT_BYTES = 1 << 20
OUTPUT_AT_MOST = 1 << 16
SHARED_AT_MOST = 1 << 12
BLOB = 0x21


class Resources:
    """All of it; what is open between two calls of the API is closed by `close`."""

    def __init__(self, library: str) -> None:
        self.input = (ctypes.c_uint8 * INPUT_BYTES).from_buffer_copy(pattern(INPUT_BYTES))
        self._output = (ctypes.c_uint8 * OUTPUT_BYTES)()
        self._both = (ctypes.c_uint8 * INPUT_BYTES).from_buffer_copy(self.input)
        self._folder = tempfile.TemporaryDirectory(prefix="nnapi_fuzz_")
        self.cache_folder = Path(self._folder.name)
        self._buffers: Any = None
        companion = Path(library).parent / "libnativewindow.so"
        if companion.exists():
            self._buffers = ctypes.CDLL(str(companion))
        self._pending: deque[tuple[int, int]] = deque()
        self._closing = False
        self._signaller = threading.Thread(target=self._signal, name="signaller", daemon=True)
        self._signaller.start()

    def output_address(self, rng: random.Random) -> int:
        """Where an output of at most OUTPUT_AT_MOST bytes may lie."""
        start = rng.randrange(OUTPUT_BYTES - OUTPUT_AT_MOST) & ~15
        return ctypes.addressof(self._output) + start

    def shared_address(self, rng: random.Random) -> int:
        """Where inputs and outputs of at most SHARED_AT_MOST bytes may lie, over each other."""
        start = rng.randrange(64 if rng.random() < 0.5 else INPUT_BYTES - SHARED_AT_MOST) & ~3
        return ctypes.addressof(self._both) + start

    @contextmanager
    def file(self, rng: random.Random) -> Iterator[int]:
        """A descriptor of a file; now and then of none."""
        if rng.random() < 0.05:
            yield rng.choice((-1, 1 << 20, 2**31 - 1))
            return
        descriptor = os.memfd_create(FILE_NAME)
        try:
            os.truncate(descriptor, rng.choice((FILE_BYTES, FILE_BYTES, FILE_BYTES, 4096, 0)))
            if rng.random() < 0.5:
                os.pwrite(descriptor, bytes(self.input)[:4096], 0)
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def hardware_buffer(self, rng: random.Random) -> Iterator[tuple[int, int]]:
        """A hardware buffer and its size in bytes; (0, 0) where there is no library for it."""
        buffer = ctypes.c_void_p()
        size = rng.choice((64, 4096, FILE_BYTES))
        format = BLOB if rng.random() < 0.8 else 1
        usage = rng.choice((0x33, 0x33, 0x33, 3, 0x30, 1 << 24 | 0x33, 1 << 24))
        width = size if format == BLOB else 4
        desc = Desc(width, 1, 1, format, usage)
        allocate = getattr(self._buffers, "AHardwareBuffer_allocate", None)
        if allocate is None or allocate(ctypes.byref(desc), ctypes.byref(buffer)):
            yield 0, 0
            return
        try:
            yield buffer.value or 0, size
        finally:
            self._buffers.AHardwareBuffer_release(buffer)

    @contextmanager
    def fence(self, rng: random.Random) -> Iterator[int]:
        """A descriptor that is signalled already, or will be soon, or never can be."""
        way = rng.randrange(10)
        if way == 0:
            yield rng.choice((0, -1, 1 << 20, -(2**31)))
        elif way < 6:
            descriptor = os.eventfd(1)
            yield descriptor
            os.close(descriptor)
        elif way == 6:
            reader, writer = os.pipe()
            os.close(reader)
            yield writer  # in an error state
            os.close(writer)
        else:
            reader, writer = os.pipe() if way == 7 else (os.eventfd(0), -1)
            if writer < 0:
                writer = os.dup(reader)
            yield reader
            os.close(reader)
            self._pending.append((writer, time.monotonic_ns()))

    def _signal(self) -> None:
        while not self._closing or self._pending:
            time.sleep(0.001)
            while self._pending:
                writer, _ = self._pending.popleft()
                os.write(writer, bytes((1, 0, 0, 0, 0, 0, 0, 0)))
                os.close(writer)

    def settle(self) -> None:
        """Return when nothing is open any more."""
        while self._pending:
            time.sleep(0.001)
        time.sleep(0.005)

    def close(self) -> None:
        """End the thread and delete the folder."""
        self._closing = True
        self._signaller.join()
        self._folder.cleanup()
