"""The reasons why operators cannot be imported."""

from collections.abc import Sequence
from typing import NamedTuple

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ResultCode

MOST_REASONS = 40
"""The most distinct reasons in a message."""
MOST_OPERATORS = 3
"""The most operators that are named for each reason."""
MALFORMED = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of lowerings for operators that lack inputs, outputs or dimensions."""


def reason(message: str, rule: str) -> NnapiError:
    """BAD_DATA with the reason why an operator cannot be imported."""
    return NnapiError(ResultCode.BAD_DATA, message, rule=rule)


class Reason(NamedTuple):
    """Why NNAPI cannot express an operator. number: None for an input or output."""

    number: int | None
    name: str
    why: str

    def __str__(self) -> str:
        location = self.name if self.number is None else f"operator {self.number} {self.name}"
        return f"{location}: {self.why}"


def affected(reasons: Sequence[Reason], total: int) -> str:
    """What the reasons are of, as the subject of a sentence: operators, or the graph."""
    count = len({item.number for item in reasons if item.number is not None})
    return f"{count} of {total} operators have" if count else "the graph has"


def listed(reasons: Sequence[Reason]) -> str:
    """Each reason with the number of operators and the first of them, in one line."""
    groups: dict[tuple[str, str], list[Reason]] = {}
    for item in reasons:
        groups.setdefault((item.name, item.why), []).append(item)
    shown = "; ".join(map(_grouped, list(groups.values())[:MOST_REASONS]))
    more = f"; and {len(groups) - MOST_REASONS} more" if len(groups) > MOST_REASONS else ""
    return shown + more


def _grouped(reasons: Sequence[Reason]) -> str:
    """Equal reasons of operators of one kind."""
    if len(reasons) == 1:
        return str(reasons[0])
    numbers = ", ".join(str(item.number) for item in reasons[:MOST_OPERATORS])
    more = ", ..." if len(reasons) > MOST_OPERATORS else ""
    first = reasons[0]
    return f"{len(reasons)} operators {first.name} ({numbers}{more}): {first.why}"
