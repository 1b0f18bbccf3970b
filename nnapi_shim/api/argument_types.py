"""What a program gives that is of the wrong Python type: a TypeError that says what it is."""

import operator
from collections.abc import Iterable
from typing import Any

from nnapi_shim.errors import bad_data

_MOST_SHOWN = 60
"""Characters."""


def shown(given: object) -> str:
    """A value and its type, for a message."""
    text, name = " ".join(repr(given).split()), type(given).__name__
    if " object at 0x" in text or text.startswith(("<model", "<compilation")):
        return f"of type {name}"
    text = text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."
    return f"{text} ({name})"


def wrong_type(what: str, given: object, wanted: str) -> TypeError:
    """The refusal of something that is not what it must be."""
    return TypeError(f"{what} is {shown(given)}; it must be {wanted}")


def listed(what: str, given: Any, wanted: str) -> list[Any]:
    """The items of a list, tuple or the like; text is none."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise wrong_type(what, given, wanted)
    return list(given)


def integer(
    what: str, given: Any, wanted: str = "a whole number from 0", low: int | None = 0
) -> int:
    """A whole number; raises BAD_DATA for one below `low`. low: None for no limit."""
    try:
        number = operator.index(given)
    except TypeError:
        raise wrong_type(what, given, wanted) from None
    if low is not None and number < low:
        raise bad_data(f"{what} is {number}; it must be {wanted}", "argument.integer")
    return number


def number(what: str, given: Any) -> float:
    """A number, such as a scale."""
    try:
        return float(given)
    except (TypeError, ValueError):
        raise wrong_type(what, given, "a number") from None
