"""Names of operands in messages: `operand 3` becomes `operand 3 'image'`.

Rules use indexes of operands. The object that knows the model (a model, a compilation, an
execution) adds the names.
"""

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hints import Callable, Mapping, Sequence
from nnapi_shim.log import one_line
from nnapi_shim.runtime.referenced import Part

_GRAPHS = {
    OperationType.IF: {"then": 1, "else": 2},
    OperationType.WHILE: {"condition": 0, "body": 1},
}
"""The inputs that are graphs, by their names in messages."""

_BRANCHES = {name for positions in _GRAPHS.values() for name in positions}


def function_of(method: str) -> str:
    """The C function of a method that builds a model."""
    words = method.split("_")
    prefix = "nnapi_shim_" if method == "set_operand_name" else "ANeuralNetworksModel_"
    return prefix + words[0] + "".join(word.title() for word in words[1:])


def named(error: NnapiError, names: Mapping[int, str], part: Part | None = None) -> NnapiError:
    """An error with the names of operands in its message; the same error if they have none.

    names: of the operands of a model. part: the finished model, for names of arguments and of
    operands of the graphs of IF and WHILE.
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
    """Map operand indexes of a partition in an error to those of the model.

    An error of a referenced graph is unchanged: its indexes are the same in the model.
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
    """`text` with the name after each number that follows `kind`."""

    def behind(number: int, rest: str) -> str:
        name = names.get(number)
        if name is None or rest.startswith(" '"):
            return f"{number}{rest}"
        return f"{number} '{one_line(name)}'{rest}"

    return _with(text, kind, behind)


def _with(text: str, kind: str, behind: Callable[[int, str], str]) -> str:
    """`text` with each number that follows `kind`, and the text up to the next one, replaced."""
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
    """A message split at its places; each part lacks its closing parenthesis."""
    return text.replace("), ", "): ").split("): ")


def _of_inner_graph(text: str, part: Part) -> Mapping[int, str]:
    """The names of the operands of the graph that a message refers to, which is a referenced graph
    for `IF (operation 0), else: ADD (operation 2)`.
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
