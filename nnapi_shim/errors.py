"""The one exception of the project, and the last error of each thread."""

from _thread import _local

from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hints import Any, NamedTuple


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

    Messages say what was given, then behind a semicolon what is allowed; where it happened (object,
    operation, operand) is added by the caller that knows it, with `at`.

    rule: id of the rule that was broken, such as `model.add-operation.type`: the object, then the
        rule, in the words of the API. Programs may compare it: tests/rule_ids.txt has all of them,
        and one changes only on purpose. Drivers of other people may leave it out, or give their
        own: `driver.`, the name of the driver and of its rule.
    places: where it was broken, outermost first, as far as callers said so with a Place.
    said: the message as the rule gave it, without the places in front.
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
        """The same refusal with its place in front, such as `CONV_2D (operation 4)`."""
        places = (place, *self.places) if isinstance(place, Place) else self.places
        return self._with(f"{place}: {self.message}", places)

    def about(self, *places: Place) -> "NnapiError":
        """The same refusal, of places that the message names already."""
        return self._with(self.message, (*places, *self.places))

    def again(self) -> "NnapiError":
        """The same refusal, to be kept or to be raised once more.

        An exception keeps the frames that it came through, all with their objects, and more of
        them each time that it is raised.
        """
        return self._with(self.message, self.places)

    def worded(self, message: str, said: str = "") -> "NnapiError":
        """The same refusal in other words, which say more of the places.

        said: as in the class; as it was where it is empty.
        """
        return self._with(message, self.places, said=said)

    def with_code(self, code: ResultCode) -> "NnapiError":
        """The same refusal with another result code."""
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
        """What it says, in parts, as the JSON lines have it (NNAPI_SHIM_LOG)."""
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
    """A value or shape that an operation rejects when it is reached in a computation."""
    return NnapiError(ResultCode.OP_FAILED, message, rule)


_last = _local()


def remember(error: NnapiError) -> None:
    """Make `error` the last error of this thread."""
    _last.error = error


def last_error() -> NnapiError | None:
    """The last refusal on this thread through the C functions, or None."""
    return getattr(_last, "error", None)


def last_line(error: BaseException) -> str:
    """What matters of the long explanations that some packages give, such as numpy and numba."""
    return str(error).strip().rpartition("\n")[2]
