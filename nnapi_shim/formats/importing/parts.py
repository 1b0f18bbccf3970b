"""Partitions a graph into parts that NNAPI can express and parts for another runtime."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from nnapi_shim.api.model import Model
from nnapi_shim.formats.importing.reason import Reason

Key = Any
"""A value of the graph: a tensor index, or a name."""


class DataflowNode(NamedTuple):
    """An operator. number: its position in the file. reads, writes: its values, without omitted
    ones.
    """

    number: int
    name: str
    reads: tuple[Key, ...]
    writes: tuple[Key, ...]


class Dataflow(NamedTuple):
    """A graph, with its operators in execution order."""

    operators: tuple[DataflowNode, ...]
    inputs: tuple[Key, ...]
    outputs: tuple[Key, ...]


class Part(NamedTuple):
    """Operators that run together.

    model: None if the other runtime runs the part. reasons: why it does.
    """

    operators: tuple[DataflowNode, ...]
    inputs: tuple[Key, ...]
    outputs: tuple[Key, ...]
    model: Model | None
    reasons: tuple[Reason, ...] = ()


Attempt = Callable[[Part], tuple[Part, Sequence[Reason]]]
"""Returns a part with its model and no reasons, or the reasons why there is none. The inputs of the
model are those of the returned part.
"""


def parts_of(
    flow: Dataflow,
    reasons: Sequence[Reason],
    attempt: Attempt,
    *,
    fixed: Collection[int] = (),
    is_together: bool = False,
) -> list[Part]:
    """The parts, in execution order.

    reasons: those of the whole graph. fixed: numbers of operators on constants alone, such as a
    DEQUANTIZE of weights, which are repeated in every part that reads their outputs, since
    operators need constant weights. is_together: whether all operators must be in one part.
    """
    why: dict[int, list[Reason]] = {}
    _note(why, reasons, ())
    while True:
        everything = {operator.number for operator in flow.operators}
        outside = everything if is_together and why else set(why)
        parts = _attempted(flow, attempt, why, outside, set(fixed), is_together)
        if parts is not None:
            return parts


def _attempted(
    flow: Dataflow,
    attempt: Attempt,
    why: dict[int, list[Reason]],
    outside: Collection[int],
    fixed: set[int],
    is_together: bool,
) -> list[Part] | None:
    """The parts; None if a part is refused, whose reasons are then added to `why`."""
    within = fixed.difference(outside)
    moved = [operator for operator in flow.operators if operator.number not in within]
    parts = []
    for operators, is_outside in _runs(moved, outside):
        # The other runtime computes all fixed operators; a model those that NNAPI can express.
        copied = fixed if is_outside else within
        part = _part(flow, _with_fixed(flow, operators, copied), within)
        if not part.outputs and not is_together:
            continue  # their outputs are not read
        if is_outside:
            known_reasons = (
                reason for operator in operators for reason in why.get(operator.number, ())
            )
            parts.append(part._replace(reasons=tuple(known_reasons)))
            continue
        part, reasons = attempt(part)
        if part.model is None:
            _note(why, reasons, operators)
            return None
        parts.append(part)
    return parts


def _with_fixed(
    flow: Dataflow, operators: Sequence[DataflowNode], fixed: Collection[int]
) -> list[DataflowNode]:
    """The operators, preceded by the constant operators that they read from."""
    chosen = {operator.number for operator in operators}
    needed = {key for operator in operators for key in operator.reads}
    for operator in reversed(flow.operators):
        if operator.number in fixed and not needed.isdisjoint(operator.writes):
            chosen.add(operator.number)
            needed.update(operator.reads)
    return [operator for operator in flow.operators if operator.number in chosen]


def _note(
    why: dict[int, list[Reason]], reasons: Sequence[Reason], operators: Sequence[DataflowNode]
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
    operators: Sequence[DataflowNode], outside: Collection[int]
) -> Iterator[tuple[list[DataflowNode], bool]]:
    """Maximal sets of operators of one kind that can run together.

    outside: numbers of operators that NNAPI cannot express.
    """
    waiting = list(operators)
    written = {key for operator in waiting for key in operator.writes}
    is_outside = bool(waiting) and waiting[0].number in outside
    while waiting:
        run, rest = [], []
        for operator in waiting:
            is_ready = not any(key in written for key in operator.reads)
            if is_ready and (operator.number in outside) is is_outside:
                run.append(operator)
                written.difference_update(operator.writes)
            else:
                rest.append(operator)
        if run:
            yield run, is_outside
        waiting, is_outside = rest, not is_outside


def _part(flow: Dataflow, operators: Sequence[DataflowNode], within: Collection[int]) -> Part:
    """The inputs and outputs of operators that run together.

    within: numbers of constant operators that every part repeats.
    """
    inside = {operator.number for operator in operators}
    own = {key for operator in operators for key in operator.writes}
    computed = {key for operator in flow.operators for key in operator.writes} | set(flow.inputs)
    read = dict.fromkeys(
        key
        for operator in operators
        for key in operator.reads
        if key not in own and key in computed
    )
    used = {
        key
        for operator in flow.operators
        if operator.number not in inside
        for key in operator.reads
    } | set(flow.outputs)
    outputs = tuple(
        key
        for operator in operators
        if operator.number not in within
        for key in operator.writes
        if key in used
    )
    return Part(tuple(operators), tuple(read), outputs, None)
