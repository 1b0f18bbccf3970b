"""Checks of Python types; a wrong type raises a TypeError with the value and its type."""

import operator
import os
from collections.abc import Iterable
from typing import Any

from nnapi_shim.errors import bad_data

_MOST_SHOWN = 60
"""Characters."""


def shown(value: object) -> str:
    """A value and its type, for a message."""
    text, name = " ".join(repr(value).split()), type(value).__name__
    if " object at 0x" in text or text.startswith(("<model", "<compilation")):
        return f"of type {name}"
    text = text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."
    return f"{text} ({name})"


def wrong_type(what: str, value: object, expected: str) -> TypeError:
    """The TypeError for a value of the wrong type."""
    return TypeError(f"{what} is {shown(value)}; it must be {expected}")


def listed(what: str, value: Any, expected: str) -> list[Any]:
    """The items of a list, tuple or another iterable except text."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise wrong_type(what, value, expected)
    return list(value)


def integer(what: str, value: Any, expected: str = "an integer from 0", low: int | None = 0) -> int:
    """An integer; raises BAD_DATA below `low`. low: None for no limit."""
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong_type(what, value, expected) from None
    if low is not None and number < low:
        raise bad_data(f"{what} is {number}; it must be {expected}", "argument.integer")
    return number


def number(what: str, value: Any) -> float:
    """A number, such as a scale, as float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise wrong_type(what, value, "a number") from None


def folder_and_token(cache: object) -> tuple[str, bytes]:
    """A cache folder and the token of a model; raises TypeError for others."""
    if isinstance(cache, tuple | list) and len(cache) == 2:
        folder, token = cache
        if isinstance(folder, str | os.PathLike) and isinstance(token, bytes):
            return os.fspath(folder), token
    raise wrong_type("cache", cache, "a folder and a token of 32 bytes, such as ('folder', token)")
