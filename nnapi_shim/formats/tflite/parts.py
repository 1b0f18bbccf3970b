"""Partitions a graph into parts that NNAPI can express and parts for LiteRT."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from nnapi_shim.api.model import Model
from nnapi_shim.formats.importing.reason import Reason
from nnapi_shim.formats.tflite.file import File, FileGraph, Operator
from nnapi_shim.formats.tflite.importing.model import Names, attempt

VARIABLES = {"ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE"}
"""Operators on variables, which must be in one part."""

RANDOM = {
    "MULTINOMIAL",
    "RANDOM_STANDARD_NORMAL",
    "RANDOM_UNIFORM",
    "STABLEHLO_RNG_BIT_GENERATOR",
}
"""Operators with random outputs."""


class Part(NamedTuple):
    """Operators that run together. inputs, outputs: tensor indices.

    model: None if LiteRT runs the part. reasons: why LiteRT runs it.
    """

    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    model: Model | None
    reasons: tuple[Reason, ...] = ()


def parts_of(file: File, graph: FileGraph, names: Names) -> Iterator[Part]:
    """The parts, in execution order.

    Operators on constants alone, such as a DEQUANTIZE of weights, are repeated in every part that
    reads their outputs, since operators need constant weights.
    """
    fixed = _fixed(graph)
    _, reasons = attempt(file, graph, names)
    why: dict[int, list[Reason]] = {}
    _note(why, reasons, ())
    has_variables = any(operator.name in VARIABLES for operator in graph.operators)
    while True:
        outside = (
            {operator.number for operator in graph.operators} if has_variables and why else set(why)
        )
        within = () if has_variables else fixed - outside
        moved = [operator for operator in graph.operators if operator.number not in within]
        parts, retry = [], False
        for operators, is_outside in _runs(graph, moved, outside):
            # LiteRT computes all fixed operators; a model those that NNAPI can express.
            copied = () if has_variables else fixed if is_outside else within
            part = _part(graph, _with_fixed(graph, operators, copied), within)
            if not part.outputs and not has_variables:
                continue  # their outputs are not read
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
    """Indices of operators with the same outputs in every run, none of them a graph output."""
    fixed: set[int] = set()
    known = {tensor.number for tensor in graph.tensors if tensor.is_constant}
    boundary = {*graph.inputs, *graph.outputs}
    for operator in graph.operators:
        inputs = [index for index in operator.inputs if index is not None]
        is_plain = operator.custom is None and operator.name not in RANDOM | VARIABLES
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
    """The operators, preceded by the constant operators that they read from."""
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
    """Add reasons by operator. If none names an operator, or only known ones, all `operators` get
    the first reason.
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
    """Maximal sets of operators of one kind that can run together.

    outside: indices of operators that NNAPI cannot express.
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
    """The inputs and outputs of operators that run together.

    within: indices of constant operators that every part repeats.
    """
    inside = {operator.number for operator in operators}
    outputs = {index for operator in operators for index in operator.outputs}
    written = {index for operator in graph.operators for index in operator.outputs}
    read = dict.fromkeys(
        index
        for operator in operators
        for index in operator.inputs
        if index is not None
        and index not in outputs
        and (index in written or index in graph.inputs)
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
    """A part as a graph."""
    return graph._replace(operators=part.operators, inputs=part.inputs, outputs=part.outputs)


def _names(names: Names, graph: FileGraph, part: Part) -> Names:
    """The names of those inputs and outputs of a part that are also the graph's."""
    return Names(
        {index: name for index, name in names.inputs.items() if index in part.inputs},
        {index: name for index, name in names.outputs.items() if index in part.outputs},
    )
