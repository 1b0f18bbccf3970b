"""The one exception of the project, and the last error of each thread."""

from _thread import _local

from nnapi_shim.hal.enums import OperationType, ResultCode
from nnapi_shim.hints import Any, NamedTuple


class Place(NamedTuple):
    """A part of a request, such as `operation` 4 `CONV_2D` or `input` 1 (no name)."""

    kind: str
    number: int
    name: str = ""

    def __str__(self) -> str:
        which = f"{self.kind} {self.number}"
        return f"{self.name} ({which})" if self.name else which


def operation_place(type: int, number: int) -> Place:
    """An operation of a model, also one of an extension: `ADD` 4, `extension 0x10001` 5."""
    name = type.name if isinstance(type, OperationType) else f"extension {type:#x}"
    return Place("operation", number, name)


Where = str | Place
"""A place, or text that names several."""


class NnapiError(Exception):
    """A refusal: the result code of the C API and a message.

    A message states the passed value and, after a semicolon, the allowed values. The caller that
    knows the location (object, operation, operand) adds it with `at`.

    rule: id of the broken rule, such as `model.add-operation.type`: the object, then the rule, in
        the terms of the API. Ids are stable (tests/rule_ids.txt), so programs may compare them.
        Third-party drivers may omit it or use their own: `driver.<driver>.<rule>`.
    places: the location of the error, outermost first, as far as callers passed a Place.
    said: the original message of the rule, without a location.
    """

    def __init__(
        self,
        code: ResultCode,
        message: str,
        rule: str = "driver.refused",
        *,
        places: tuple[Place, ...] = (),
        said: str = "",
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.rule = rule
        self.places = places
        self.said = said or message

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message}"

    def at(self, place: Where) -> "NnapiError":
        """A copy with a location before the message, such as `CONV_2D (operation 4)`."""
        places = (place, *self.places) if isinstance(place, Place) else self.places
        return self._with(f"{place}: {self.message}", places)

    def about(self, *places: Place) -> "NnapiError":
        """A copy with places that the message names already."""
        return self._with(self.message, (*places, *self.places))

    def again(self) -> "NnapiError":
        """A copy without a traceback, to be stored or raised again.

        A traceback keeps all frames and their objects alive, and grows with each raise.
        """
        return self._with(self.message, self.places)

    def worded(self, message: str, said: str = "") -> "NnapiError":
        """A copy with another message.

        said: as in the class; empty: unchanged.
        """
        return self._with(message, self.places, said=said)

    def with_code(self, code: ResultCode) -> "NnapiError":
        """A copy with another result code."""
        return self._with(self.message, self.places, code)

    def _with(
        self,
        message: str,
        places: tuple[Place, ...],
        code: ResultCode | None = None,
        said: str = "",
    ) -> "NnapiError":
        code = self.code if code is None else code
        return NnapiError(code, message, rule=self.rule, places=places, said=said or self.said)

    def place(self, *kinds: str) -> Place | None:
        """The outermost place of one of these kinds."""
        return next((place for place in self.places if place.kind in kinds), None)

    def as_dict(self) -> dict[str, Any]:
        """The fields of a JSON log line (NNAPI_SHIM_LOG)."""
        parts: dict[str, Any] = {"code": self.code.name, "rule": self.rule}
        for place in self.places:
            name = {"name": place.name} if place.name else {}
            parts.setdefault(place.kind, {"number": place.number, **name})
        passed, _, allowed = self.said.partition("; ")
        return {**parts, "given": passed, "allowed": allowed or None, "message": self.message}


def bad_data(message: str, rule: str) -> NnapiError:
    """A value, index, type or handle that the specification does not allow."""
    return NnapiError(ResultCode.BAD_DATA, message, rule)


def bad_state(message: str, rule: str) -> NnapiError:
    """A call that the state of its object does not allow."""
    return NnapiError(ResultCode.BAD_STATE, message, rule)


def op_failed(message: str, rule: str) -> NnapiError:
    """A value or shape that an operation rejects when it executes."""
    return NnapiError(ResultCode.OP_FAILED, message, rule)


def unexpected_null(message: str, rule: str) -> NnapiError:
    """A pointer that is NULL."""
    return NnapiError(ResultCode.UNEXPECTED_NULL, message, rule)


def unmappable(message: str, rule: str) -> NnapiError:
    """A memory that cannot be mapped."""
    return NnapiError(ResultCode.UNMAPPABLE, message, rule)


_last = _local()


def remember(error: NnapiError) -> None:
    """Make `error` the last error of this thread."""
    _last.error = error


def last_error() -> NnapiError | None:
    """The last refusal on this thread through the C functions, or None."""
    return getattr(_last, "error", None)


def last_line(error: BaseException) -> str:
    """The last line of a message; numpy and numba put the cause there."""
    return str(error).strip().rpartition("\n")[2]
