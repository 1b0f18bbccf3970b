"""NNAPI_SHIM_TRACE: writes slices in the trace event format of Perfetto and Chrome.

libandroid.so owns the file (native/companion/trace.c), which also gets the ATrace sections of the
program. A call of the API has a begin event and an end event, so that the last call of a program
that died is visible; inner slices are written at their end. All slices use one clock, so they nest
per thread.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_native_id
from time import monotonic_ns
from typing import Any

from nnapi_shim import address, folders, log
from nnapi_shim.settings import TRACE

COMPANION = "libandroid.so"

API, RUNTIME, DEVICE, OPERATION = "api", "runtime", "device", "operation"
"""Categories: calls of the program, work of the runtime, work of a device, and operations.
"""


class Trace:
    """Writes to the trace of this process. Thread-safe; a fork writes nothing."""

    def __init__(self, write: Callable[[bytes, int], int]) -> None:
        self._write = write
        self._process = os.getpid()
        self._named: set[int] = set()
        """Threads whose names have been written."""

    def begin(self, name: str, category: str, started_ns: int, **arguments: Any) -> None:
        """Begin a slice on this thread."""
        self._event("B", name, category, started_ns, arguments)

    def end(self, ended_ns: int, **arguments: Any) -> None:
        """End the innermost slice of this thread."""
        self._event("E", "", "", ended_ns, arguments)

    def slice(
        self,
        name: str,
        category: str,
        started_ns: int,
        ended_ns: int,
        thread: int = 0,
        **arguments: Any,
    ) -> None:
        """Write a complete slice, of this thread or another."""
        self._event("X", name, category, started_ns, arguments, ended_ns - started_ns, thread)

    def instant(self, name: str, category: str, at_ns: int, **arguments: Any) -> None:
        """Write a moment of this thread."""
        self._event("i", name, category, at_ns, arguments)

    @contextmanager
    def within(self, name: str, category: str, **arguments: Any) -> Iterator[None]:
        """Record the block as a slice, also if it raises."""
        started = monotonic_ns()
        try:
            yield
        finally:
            self.slice(name, category, started, monotonic_ns(), **arguments)

    def _event(
        self,
        phase: str,
        name: str,
        category: str,
        at_ns: int,
        arguments: dict[str, Any],
        duration_ns: int | None = None,
        thread: int = 0,
    ) -> None:
        thread = thread or get_native_id()
        event: dict[str, Any] = {"ph": phase, "name": name, "cat": category}
        event.update(pid=self._process, tid=thread, args=arguments)
        if phase == "i":
            event["s"] = "t"  # of its thread
        # microseconds with three decimals, which a float cannot always represent
        times = f'"ts":{_microseconds(at_ns)}'
        if duration_ns is not None:
            times += f',"dur":{_microseconds(duration_ns)}'
        text = json.dumps(event, separators=(",", ":"))
        line = f",\n{{{times},{text[1:]}"
        if thread not in self._named:
            self._named.add(thread)
            line = self._name_of(thread) + line
        encoded = line.encode()
        self._write(encoded, len(encoded))

    def _name_of(self, thread: int) -> str:
        try:
            name = Path(f"/proc/self/task/{thread}/comm").read_text(errors="replace").strip()
        except OSError:
            name = "thread"
        event = {"ph": "M", "name": "thread_name", "pid": self._process, "tid": thread}
        return ",\n" + json.dumps({**event, "args": {"name": name}}, separators=(",", ":"))


def _microseconds(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def opened() -> Trace | None:
    """The trace of the setting; None, after a warning, if it cannot be written."""
    files = [f"{folder}/{COMPANION}" for folder in folders.library_folders()]
    opener = address.loaded_function(
        "nnapi_shim_writeTrace", "int(*)(char *, size_t)", files, load=True
    )
    if opener is None:
        log.warning(
            f"{TRACE.name} is not used; it needs {COMPANION}, which is in none of its places"
        )
        return None
    function, library = opener
    _kept.append(library)
    return Trace(function) if function(b"", 0) else None  # it has logged the reason


_kept: list[Any] = []
"""Libraries loaded for the trace, kept loaded."""
