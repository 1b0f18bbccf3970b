"""A trampoline: runs nested graphs of any depth without recursion.

The nesting of models may exceed the recursion limit. A function that runs a graph is written as a
generator, which yields its calls and is sent their results.
"""

from nnapi_shim.errors import NnapiError, Where
from nnapi_shim.hints import TYPE_CHECKING, Any, Generic, TypeVar

Result = TypeVar("Result")
if TYPE_CHECKING:
    from collections.abc import Generator

    Call = Generator["Call[Any]", Any, Result]
else:
    Call = Generic
"""A call with nested calls: `result = yield self._other(argument)`."""

_PLACES_TOLD = 8
"""Maximum number of nested graphs that a message names, the outermost ones."""

_MORE = "..."
"""In place of the others."""


def run(call: Call[Result]) -> Result:
    """Run a call and its nested calls; returns its result or raises its error."""
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
            error = refusal.again()  # without a chain of the errors of all levels
        else:
            path.append(called)
            answer = error = None
    try:
        if error is not None:
            raise error
        return answer  # type: ignore[no-any-return]
    finally:
        del error  # a reference cycle with this frame would keep the objects of the run alive


def at_depth(error: NnapiError, place: Where, depth: int) -> NnapiError:
    """An error with its place in front; omitted for deeply nested places.

    depth: number of graphs around the place.
    """
    if depth < _PLACES_TOLD:
        return error.at(place)
    return error.again() if error.message.startswith(_MORE) else error.at(_MORE)
