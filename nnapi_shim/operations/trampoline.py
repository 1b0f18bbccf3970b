"""Graphs inside graphs, however deep: calls inside each other that need no stack.

Models may be nested deeper than functions can be that call themselves. A function that runs a graph
is written as a generator here, which yields the calls it makes and is sent what they return.
"""

from nnapi_shim.errors import NnapiError, Where
from nnapi_shim.hints import TYPE_CHECKING, Any, Generic, TypeVar

Result = TypeVar("Result")
if TYPE_CHECKING:
    from collections.abc import Generator

    Call = Generator["Call[Any]", Any, Result]
else:
    Call = Generic
"""A call that makes others: `result = yield self._other(argument)`."""

_PLACES_TOLD = 8
"""Graphs inside graphs that a message names: the outermost ones."""

_MORE = "..."
"""In place of the others."""


def run(call: Call[Result]) -> Result:
    """Run a call and those that it makes; returns or raises what it does."""
    path: list[Call[Any]] = [call]
    answer: Any = None
    error: NnapiError | None = None
    while path:
        try:
            called = path[-1].send(answer) if error is None else path[-1].throw(error)
        except StopIteration as end:
            path.pop()
            answer, error = end.value, None
        except NnapiError as refusal:
            path.pop()
            error = refusal.again()  # not with those of all levels below behind it
        else:
            path.append(called)
            answer = error = None
    try:
        if error is not None:
            raise error
        return answer  # type: ignore[no-any-return]
    finally:
        del error  # it has this frame, which would keep all that the run held


def at_depth(error: NnapiError, place: Where, depth: int) -> NnapiError:
    """A refusal with its place in front, as long as that can be read.

    depth: how many graphs are around the place.
    """
    if depth < _PLACES_TOLD:
        return error.at(place)
    return error.again() if error.message.startswith(_MORE) else error.at(_MORE)
