"""Reads JSON objects field by field, and collects what is wrong with them."""

from collections.abc import Callable, Sequence

from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hints import Any

REQUIRED = object()
_KINDS: dict[str, Callable[[Any], bool]] = {
    "a text": lambda value: isinstance(value, str),
    "true or false": lambda value: isinstance(value, bool),
    "true, false or an object": lambda value: isinstance(value, bool | dict),
    "a list": lambda value: isinstance(value, list),
    "an object": lambda value: isinstance(value, dict),
    "a whole number": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "a number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    'a list of texts, or "all"': lambda value: value == "all" or _are_texts(value),
    "a list of texts": lambda value: _are_texts(value),
    "two numbers above 0": lambda value: _are_figures(value),
}
"""Kind of a value, in words -> its test."""


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(it, str) for it in value)


def _are_figures(value: Any) -> bool:
    is_number = _KINDS["a number"]
    return (
        isinstance(value, list) and len(value) == 2 and all(is_number(v) and v > 0 for v in value)
    )


class Fields:
    """An object of a JSON file. Each problem goes to a list, with the path of the field."""

    def __init__(self, data: Any, where: str, problems: list[NnapiError]) -> None:
        self.where = where
        self.problems = problems
        self._known: list[str] = []
        self._data: dict[str, Any] = data if isinstance(data, dict) else {}
        if not isinstance(data, dict):
            self.refuse(bad_data(f"{shown(data)} is no object", "profile.type"), "")

    def refuse(self, error: NnapiError, field: str) -> None:
        """Add a problem of a field."""
        self.problems.append(error.at(self.path(field)))

    def path(self, field: str) -> str:
        """The path of a field, for messages."""
        return ".".join(filter(None, (self.where, field))) or "the file"

    def take(self, field: str, kind: str, default: Any = REQUIRED) -> Any:
        """The value of a field; the default, or None for a required one, if it is not usable."""
        self._known.append(field)
        otherwise = None if default is REQUIRED else default
        if field not in self._data:
            if default is REQUIRED and self._data:
                self.refuse(bad_data(f"is missing; it must be {kind}", "profile.missing"), field)
            return otherwise
        value = self._data[field]
        if not _KINDS[kind](value):
            message = f"is {shown(value)}; it must be {kind}"
            self.refuse(bad_data(message, "profile.type"), field)
            return otherwise
        return value

    def among(self, field: str, allowed: Sequence[str], default: Any = REQUIRED) -> Any:
        """As `take`, for one of several texts."""
        value = self.take(field, "a text", default)
        if value is None or value in allowed:
            return value
        self.refuse(_unknown(value, allowed), field)
        return None if default is REQUIRED else default

    def each(self, field: str, values: Sequence[str], allowed: Sequence[str]) -> list[str]:
        """The texts of a list that are allowed."""
        for value in values:
            if value not in allowed:
                self.refuse(_unknown(value, allowed), field)
        return [value for value in values if value in allowed]

    def count(self, field: str) -> int | None:
        """A whole number from 1, or None if there is none."""
        value: int | None = self.take(field, "a whole number", None)
        if value is not None and value < 1:
            message = f"is {value}; it must be at least 1"
            self.refuse(bad_data(message, "profile.limit"), field)
            return None
        return value

    def names(self) -> list[str]:
        """All fields of the object."""
        return list(self._data)

    def end(self) -> None:
        """Refuse the fields that were not asked for."""
        for name in self._data:
            if name not in self._known:
                error = bad_data(
                    f"is no field; there are {_nearest(name, self._known)}", "profile.unknown-field"
                )
                self.refuse(error, name)


def _unknown(value: str, allowed: Sequence[str]) -> NnapiError:
    return bad_data(
        f"is {shown(value)}; allowed are {_nearest(value, allowed)}", "profile.unknown-name"
    )


def _nearest(name: str, allowed: Sequence[str]) -> str:
    """The allowed names; of many only those that are like it."""
    if len(allowed) > 20:
        from difflib import get_close_matches

        allowed = get_close_matches(name, allowed, 3, 0) or allowed[:3]
        return ", ".join([*allowed, "..."])
    return ", ".join(allowed)


def shown(value: Any) -> str:
    """A value in a message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
