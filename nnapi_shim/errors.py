"""The one exception of the project, and the last error of each thread."""

import sys
from _thread import _local
from typing import Any, NamedTuple

from nnapi_shim.hal.enums import ResultCode


class Place(NamedTuple):
    """A part of what was asked for, such as `operation` 4 `CONV_2D` or `input` 1 (no name)."""

    kind: str
    number: int
    name: str = ""

    def __str__(self) -> str:
        return (
            f"{self.name} ({self.kind} {self.number})"
            if self.name
            else f"{self.kind} {self.number}"
        )


Where = str | Place
"""A place, or text that says more than one."""


class NnapiError(Exception):
    """A refusal with the result code that a C program sees and a message that a human can read.

    Messages name what was given and what is allowed; where it happened (object, operation,
    operand) is added by the caller that knows it, with `at`.

    rule: the rule that was broken, by the function that it is written in, such as
        `operations.rules.same_type`; it stays the same as long as the rule does.
    places: where it was broken, outermost first, as far as callers said so with a Place.
    """

    def __init__(
        self, code: ResultCode, message: str, rule: str = "", places: tuple[Place, ...] = ()
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.rule = rule or _rule_of(sys._getframe(1))
        self.places = places

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message}"

    def at(self, place: Where) -> "NnapiError":
        """The same refusal with its place in front, such as `CONV_2D (operation 4)`."""
        places = (place, *self.places) if isinstance(place, Place) else self.places
        return NnapiError(self.code, f"{place}: {self.message}", self.rule, places)

    def about(self, place: Place) -> "NnapiError":
        """The same refusal, of a place that the message names already."""
        return NnapiError(self.code, self.message, self.rule, (place, *self.places))

    def again(self) -> "NnapiError":
        """The same refusal, to be kept or to be raised once more.

        An exception keeps the frames that it came through, all with their objects, and more of
        them each time that it is raised.
        """
        return NnapiError(self.code, self.message, self.rule, self.places)

    def place(self, *kinds: str) -> Place | None:
        """The outermost place of one of these kinds."""
        return next((place for place in self.places if place.kind in kinds), None)

    def as_dict(self) -> dict[str, Any]:
        """What it says, in parts, as the JSON lines have it (NNAPI_SHIM_LOG)."""
        parts: dict[str, Any] = {"code": self.code.name, "rule": self.rule}
        for place in self.places:
            name = {"name": place.name} if place.name else {}
            parts.setdefault(place.kind, {"number": place.number, **name})
        return {**parts, "message": self.message}


def _rule_of(frame: Any) -> str:
    """Name of a rule: the module and the function, or the outermost one around it."""
    module = str(frame.f_globals.get("__name__", "")).removeprefix("nnapi_shim.")
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name).partition(".<locals>")[0]
    return f"{module}.{name.rpartition('.')[2].strip('_')}"


def bad_data(message: str) -> NnapiError:
    """A value, index, type or handle that the specification does not allow."""
    return NnapiError(ResultCode.BAD_DATA, message, _rule_of(sys._getframe(1)))


def bad_state(message: str) -> NnapiError:
    """A call that the state of its object does not allow."""
    return NnapiError(ResultCode.BAD_STATE, message, _rule_of(sys._getframe(1)))


def op_failed(message: str) -> NnapiError:
    """A value or shape that an operation rejects when it is reached in a computation."""
    return NnapiError(ResultCode.OP_FAILED, message, _rule_of(sys._getframe(1)))


def require(condition: object, code: ResultCode, message: str) -> None:
    """Raise NnapiError(code, message) unless `condition` holds."""
    if not condition:
        raise NnapiError(code, message, _rule_of(sys._getframe(1)))


_last = _local()


def remember(error: NnapiError) -> None:
    """Make `error` the last error of this thread."""
    _last.error = error


def last_error() -> NnapiError | None:
    """The last refusal on this thread through the C functions, or None."""
    return getattr(_last, "error", None)
