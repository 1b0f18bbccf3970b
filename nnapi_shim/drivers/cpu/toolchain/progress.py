"""Progress of a long build: a line that is overwritten on a terminal, elsewhere a few lines."""

import sys
import time
from collections.abc import Sequence
from types import TracebackType

QUARTERS = 4
"""Number of lines where stderr is no terminal."""


class Progress:
    """Prints on stderr how many parts are done, and how many seconds are left.

    seconds: estimates per part; the speed of this machine is measured on the way.
    """

    def __init__(self, title: str, seconds: Sequence[float], workers: int) -> None:
        self._title, self._workers = title, workers
        self._count, self._total = len(seconds), sum(seconds)
        self._parts, self._done, self._last, self._printed = 0, 0.0, "", 0
        self._began = time.monotonic()
        self._is_terminal = sys.stderr.isatty()

    def __enter__(self) -> "Progress":
        self._write(f"{self._title}: {self._count} parts to compile, {self._left()}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_terminal:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def done(self, seconds: float, name: str) -> None:
        """One more part is done."""
        self._parts, self._done, self._last = self._parts + 1, self._done + seconds, name
        quarter = int(QUARTERS * self._done / self._total)
        if not self._is_terminal and quarter > self._printed and self._parts < self._count:
            self._printed = quarter
            self._write(self._line())

    def show(self) -> None:
        """Bring the line of a terminal up to date."""
        if self._is_terminal and self._parts:
            self._write(self._line())

    def _line(self) -> str:
        return f"{self._title}: {self._parts}/{self._count}, {self._last} done, {self._left()}"

    def _left(self) -> str:
        """Seconds left: from the time spent so far, or from the estimates alone at the start."""
        spent = time.monotonic() - self._began
        speed = 1 / self._workers
        if self._done > self._total / 10:
            speed = spent / self._done
        return f"about {max(1, round((self._total - self._done) * speed))} s left"

    def _write(self, line: str) -> None:
        sys.stderr.write(f"\r{line}\033[K" if self._is_terminal else f"{line}\n")
        sys.stderr.flush()
