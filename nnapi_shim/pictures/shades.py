"""Colours of operations, the same in every picture.

Numbers go from light to dark, texts have lighter variants of the colours of Okabe and Ito. Both are
safe for colour-blind people, and black text is readable on all of them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from nnapi_shim.units import duration, number

GRADIENT = ((0.0, "#fff7e0"), (0.5, "#fdbb63"), (1.0, "#e4572e"))
"""Share of the range -> colour."""
DISTINCT = (
    "#9ad0f0",
    "#f4c26b",
    "#7fd1b3",
    "#dfaecb",
    "#f3eb8a",
    "#ec9a6b",
    "#8fb6dd",
    "#cfcfcf",
)
WITHIN = "#d7efdc"
"""Colour of operations within a tolerance."""
MICROSECONDS = "\u00b5s"
WHITE, INK = "#ffffff", "#1a1a1a"
"""Colour of operations without a value; colour of text."""


@dataclass(frozen=True)
class Shades:
    """A property that colours operations.

    name: `device`, `partition`, `time` or `error`. title: its description. unit: of the numbers, or
    "". values: number of an operation -> a number or a text; other operations are white.
    notes: number of an operation -> a text in place of a value; it is white. beyond: the operations
    beyond a tolerance, the only dark ones; None without a tolerance.
    """

    name: str
    title: str
    unit: str
    values: Mapping[int, float | str]
    notes: Mapping[int, str] = field(default_factory=dict)
    beyond: frozenset[int] | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether there are values and all are numbers."""
        return bool(self.values) and not any(isinstance(v, str) for v in self.values.values())

    @property
    def largest(self) -> float:
        """The largest finite number. It and infinities have the darkest colour, 0 the lightest."""
        numbers = [float(value) for value in self.values.values()]
        return max(filter(math.isfinite, numbers), default=0.0)

    @property
    def distinct(self) -> tuple[str, ...]:
        """The distinct texts, in order of appearance."""
        return tuple(dict.fromkeys(str(value) for value in self.values.values()))

    def colour(self, number: int) -> str:
        """The colour of an operation, as #rrggbb."""
        if number not in self.values:
            return WHITE
        value = self.values[number]
        if isinstance(value, str):
            return self.colour_of(value)
        if not math.isfinite(value):
            return gradient(1.0)
        share = value / self.largest if self.largest else 0.0
        if self.beyond is None:
            return gradient(share)
        return gradient(0.5 + share / 2) if number in self.beyond else WITHIN

    def colour_of(self, text: str) -> str:
        """The colour of a text."""
        return DISTINCT[self.distinct.index(text) % len(DISTINCT)]

    def text(self, number: int) -> str:
        """The value of an operation as text; "" if it has none."""
        if number not in self.values:
            return self.notes.get(number, "")
        value = self.values[number]
        return value if isinstance(value, str) else self.written(value)

    def written(self, value: float) -> str:
        """A number with its unit."""
        if self.unit == MICROSECONDS:
            return duration(value * 1e-6, MICROSECONDS)
        return f"{number(value, 3)} {self.unit}".rstrip()


def gradient(share: float, stops: Sequence[tuple[float, str]] = GRADIENT) -> str:
    """The colour of a share of the range, from 0 to 1."""
    share = min(max(share, 0.0), 1.0)
    for (low, first), (high, last) in pairwise(stops):
        if share <= high:
            at = (share - low) / (high - low)
            parts = zip(bytes.fromhex(first[1:]), bytes.fromhex(last[1:]), strict=True)
            return "#" + "".join(f"{round(a + (b - a) * at):02x}" for a, b in parts)
    return stops[-1][1]
