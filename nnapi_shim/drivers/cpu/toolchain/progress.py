"""How far a long build is: a line that moves on a terminal, elsewhere a few lines."""

import sys
import time
from collections.abc import Sequence
from types import TracebackType

QUARTERS = 4
"""Lines where nothing can move."""


class Progress:
    """Tells on stderr of the parts that are done, and of the seconds that are left.

    weights: about how many seconds each part takes; how fast this machine is, shows on the way.
    """

    def __init__(self, what: str, weights: Sequence[float], at_once: int) -> None:
        self._what, self._at_once = what, at_once
        self._count, self._total = len(weights), sum(weights)
        self._parts, self._weight, self._last, self._told = 0, 0.0, "", 0
        self._began = time.monotonic()
        self._moves = sys.stderr.isatty()

    def __enter__(self) -> "Progress":
        self._write(f"{self._what}: {self._count} parts to compile, {self._left()}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._moves:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def done(self, weight: float, name: str) -> None:
        """One more part is done."""
        self._parts, self._weight, self._last = self._parts + 1, self._weight + weight, name
        quarter = int(QUARTERS * self._weight / self._total)
        if not self._moves and quarter > self._told and self._parts < self._count:
            self._told = quarter
            self._write(self._line())

    def show(self) -> None:
        """Bring the line of a terminal up to date."""
        if self._moves and self._parts:
            self._write(self._line())

    def _line(self) -> str:
        return f"{self._what}: {self._parts}/{self._count}, {self._last} done, {self._left()}"

    def _left(self) -> str:
        """Seconds left, from what was done so far; before that, from the weights alone."""
        spent = time.monotonic() - self._began
        speed = 1 / self._at_once
        if self._weight > self._total / 10:
            speed = spent / self._weight
        return f"about {max(1, round((self._total - self._weight) * speed))} s left"

    def _write(self, line: str) -> None:
        sys.stderr.write(f"\r{line}\033[K" if self._moves else f"{line}\n")
        sys.stderr.flush()
