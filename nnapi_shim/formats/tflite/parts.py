"""A graph cut into parts: what NNAPI can express as models, and the rest."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from nnapi_shim.api.model import Model
from nnapi_shim.formats.tflite.file import File, FileGraph, Operator
from nnapi_shim.formats.tflite.importing.model import Names, Reason, attempt

HELD_TOGETHER = {"ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE"}
"""Operators on variables, which no cut may part."""

RANDOM = {
    "MULTINOMIAL",
    "RANDOM_STANDARD_NORMAL",
    "RANDOM_UNIFORM",
    "STABLEHLO_RNG_BIT_GENERATOR",
}
"""Operators that give something else each time."""


class Part(NamedTuple):
    """Operators that run as one. inputs, outputs: numbers of tensors.

    model: None where LiteRT runs it. reasons: why it does.
    """

    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    model: Model | None
    reasons: tuple[Reason, ...] = ()


def parts_of(file: File, graph: FileGraph, names: Names) -> Iterator[Part]:
    """The parts, in an order in which they can run.

    Operators of constants alone, such as a DEQUANTIZE of weights, stand in every part that reads
    what they give: operators want their weights to be constants.
    """
    fixed = _fixed(graph)
    _, reasons = attempt(file, graph, names)
    why: dict[int, list[Reason]] = {}
    _note(why, reasons, ())
    is_held = any(operator.name in HELD_TOGETHER for operator in graph.operators)
    while True:
        outside = {operator.number for operator in graph.operators} if is_held and why else set(why)
        within = () if is_held else fixed - outside
        moved = [operator for operator in graph.operators if operator.number not in within]
        parts, retry = [], False
        for operators, is_outside in _runs(graph, moved, outside):
            # LiteRT computes all that is fixed; a model what NNAPI has operations for.
            copied = () if is_held else fixed if is_outside else within
            part = _part(graph, _with_fixed(graph, operators, copied), within)
            if not part.outputs and not is_held:
                continue  # nobody asks for what they compute
            if is_outside:
                known_reasons = (
                    reason for operator in operators for reason in why.get(operator.number, ())
                )
                parts.append(part._replace(reasons=tuple(known_reasons)))
                continue
            model, reasons = attempt(file, _graph(graph, part), _names(names, graph, part))
            if model is None:
                _note(why, reasons, operators)
                retry = True
                break
            parts.append(part._replace(model=model))
        if not retry:
            yield from parts
            return


def _fixed(graph: FileGraph) -> set[int]:
    """Numbers of operators that give the same in every run, and no output of the graph."""
    fixed: set[int] = set()
    known = {tensor.number for tensor in graph.tensors if tensor.is_constant}
    boundary = {*graph.inputs, *graph.outputs}
    for operator in graph.operators:
        inputs = [index for index in operator.inputs if index is not None]
        is_plain = operator.custom is None and operator.name not in RANDOM | HELD_TOGETHER
        if (
            is_plain
            and inputs
            and known.issuperset(inputs)
            and boundary.isdisjoint(operator.outputs)
        ):
            fixed.add(operator.number)
            known.update(operator.outputs)
    return fixed


def _with_fixed(
    graph: FileGraph, operators: Sequence[Operator], fixed: Collection[int]
) -> list[Operator]:
    """Operators, and in front of them those of constants that they read from."""
    chosen = {operator.number for operator in operators}
    needed = {index for operator in operators for index in operator.inputs}
    for operator in reversed(graph.operators):
        if operator.number in fixed and not needed.isdisjoint(operator.outputs):
            chosen.add(operator.number)
            needed.update(operator.inputs)
    return [operator for operator in graph.operators if operator.number in chosen]


def _note(
    why: dict[int, list[Reason]], reasons: Sequence[Reason], operators: Sequence[Operator]
) -> None:
    """Keep reasons by operator. Where none of them names an operator, or only such as are known,
    all `operators` have the first reason.
    """
    known = len(why)
    for reason in reasons:
        if reason.number is not None:
            why.setdefault(reason.number, []).append(reason)
    if len(why) > known:
        return
    for operator in operators:
        why.setdefault(operator.number, []).append(
            Reason(operator.number, operator.name, f"{reasons[0].name}: {reasons[0].why}")
        )


def _runs(
    graph: FileGraph, operators: Sequence[Operator], outside: Collection[int]
) -> Iterator[tuple[list[Operator], bool]]:
    """Operators of one kind that can run together, as many as there are at a time.

    outside: numbers of those that NNAPI cannot express.
    """
    waiting = list(operators)
    written = {index for operator in waiting for index in operator.outputs}
    is_outside = bool(waiting) and waiting[0].number in outside
    while waiting:
        run, rest = [], []
        for operator in waiting:
            is_ready = not any(index in written for index in operator.inputs)
            if is_ready and (operator.number in outside) is is_outside:
                run.append(operator)
                written.difference_update(operator.outputs)
            else:
                rest.append(operator)
        if run:
            yield run, is_outside
        waiting, is_outside = rest, not is_outside


def _part(graph: FileGraph, operators: Sequence[Operator], within: Collection[int]) -> Part:
    """What goes in and comes out of operators that run together.

    within: numbers of operators of constants that every part has for itself.
    """
    inside = {operator.number for operator in operators}
    made = {index for operator in operators for index in operator.outputs}
    written = {index for operator in graph.operators for index in operator.outputs}
    read = dict.fromkeys(
        index
        for operator in operators
        for index in operator.inputs
        if index is not None and index not in made and (index in written or index in graph.inputs)
    )
    used = {
        index
        for operator in graph.operators
        if operator.number not in inside
        for index in operator.inputs
    } | set(graph.outputs)
    inputs = tuple(
        index
        for operator in operators
        if operator.number not in within
        for index in operator.outputs
        if index in used
    )
    return Part(tuple(operators), tuple(read), inputs, None)


def _graph(graph: FileGraph, part: Part) -> FileGraph:
    """A part as a graph of its own."""
    return graph._replace(operators=part.operators, inputs=part.inputs, outputs=part.outputs)


def _names(names: Names, graph: FileGraph, part: Part) -> Names:
    """The names of those inputs and outputs of a part that are the whole's."""
    return Names(
        {index: name for index, name in names.inputs.items() if index in part.inputs},
        {index: name for index, name in names.outputs.items() if index in part.outputs},
    )
