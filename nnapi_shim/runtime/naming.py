"""Names of operands in messages: `operand 3` becomes `operand 3 'image'` where a refusal says it.

Rules know operands by their numbers. A refusal gets the names where it leaves the object that
knows the model: a model, a compilation, an execution.
"""

from collections.abc import Callable, Mapping, Sequence

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.log import one_line
from nnapi_shim.runtime.referenced import Part

_GRAPHS = {
    OperationType.IF: {"then": 1, "else": 2},
    OperationType.WHILE: {"condition": 0, "body": 1},
}
"""The inputs that are graphs, under the names that messages have for them."""

_BRANCHES = {name for positions in _GRAPHS.values() for name in positions}


def named(error: NnapiError, names: Mapping[int, str], part: Part | None = None) -> NnapiError:
    """A refusal with the names of the operands that it tells of; itself where they have none.

    names: those of a model. part: the finished model, for the names of the graphs that IF and
    WHILE run, and of arguments.
    """
    message, said = error.message, error.said
    if part is not None:
        names = _of_inner_graph(message, part)
    if names:
        message, said = (_with_names(text, "operand ", names) for text in (message, said))
    if part is not None and part.names and "(operation " not in message:
        graph = part.own.main
        for role, indexes in (("input ", graph.input_indexes), ("output ", graph.output_indexes)):
            own = {at: part.names[i] for at, i in enumerate(indexes) if i in part.names}
            message, said = (_with_names(text, role, own) for text in (message, said))
    return error if message == error.message else error.worded(message, said)


def renumbered(error: NnapiError, indexes: Sequence[int]) -> NnapiError:
    """A refusal of a part of a model, whose operands stand for those of the whole: with theirs.

    What a graph that the part refers to refuses stays as it is: it is the same in the whole.
    """
    if any(word.partition(": ")[0] in _BRANCHES for word in _places(error.message)[1:]):
        return error

    def behind(number: int, rest: str) -> str:
        return f"{indexes[number] if number < len(indexes) else number}{rest}"

    message, said = (_with(text, "operand ", behind) for text in (error.message, error.said))
    places = tuple(
        place._replace(number=indexes[place.number])
        if place.kind == "operand" and place.number < len(indexes)
        else place
        for place in error.places
    )
    return NnapiError(error.code, message, rule=error.rule, places=places, said=said)


def _with_names(text: str, kind: str, names: Mapping[int, str]) -> str:
    """`text` with the name behind each number that follows `kind`."""

    def behind(number: int, rest: str) -> str:
        name = names.get(number)
        if name is None or rest.startswith(" '"):
            return f"{number}{rest}"
        return f"{number} '{one_line(name)}'{rest}"

    return _with(text, kind, behind)


def _with(text: str, kind: str, behind: Callable[[int, str], str]) -> str:
    """`text` with other words from each number on that follows `kind`, up to the next one."""
    first, *others = text.split(kind)
    result, before = first, first
    for rest in others:
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        is_word = not before[-1:].isalnum()
        if is_word and 0 < len(digits) < 12:
            rest = behind(int(digits), rest[len(digits) :])
        result += kind + rest
        before = rest
    return result


def _places(text: str) -> list[str]:
    """The words of a message, from place to place, each without its last bracket."""
    return text.replace("), ", "): ").split("): ")


def _of_inner_graph(text: str, part: Part) -> Mapping[int, str]:
    """The names of the graph that a message is about: `IF (operation 0), else: ADD (operation 2)`
    is about one that the model refers to.
    """
    words = _places(text)
    for item_text, branch in zip(words, words[1:], strict=False):  # noqa: RUF007 (no import for it)
        digits = item_text.rpartition("(operation ")[2]
        item = next((o for o in part.own.main.operations if str(o.number) == digits), None)
        positions = _GRAPHS.get(item.type, {}) if item is not None else {}  # type: ignore[call-overload]
        name = branch.partition(": ")[0]
        if item is None or name not in positions:
            break
        operand = part.own.main.operands[item.inputs[positions[name]]]
        part = part.inner[operand.location.offset]
    return part.names
