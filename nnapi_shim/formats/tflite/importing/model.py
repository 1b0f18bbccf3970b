"""Imports a graph of a file as a finished model, or collects the reasons why it cannot."""

from collections.abc import Mapping, Sequence
from functools import partial

from nnapi_shim.api.model import Model
from nnapi_shim.api.operand import Operand
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.formats.importing.allocation import Room
from nnapi_shim.formats.importing.reason import MALFORMED, Reason, affected, listed, reason
from nnapi_shim.formats.tflite.file import File, FileGraph, Operator
from nnapi_shim.formats.tflite.importing import ranks, wide
from nnapi_shim.formats.tflite.importing.boundary import (
    again_bytes,
    define_stored,
    restored,
    stored,
    stored_as,
    with_scale_of_output,
)
from nnapi_shim.formats.tflite.importing.folding import folded
from nnapi_shim.formats.tflite.importing.graph import Boundary, Importing, no_lowering
from nnapi_shim.formats.tflite.importing.table import lowering_of, why_not
from nnapi_shim.formats.tflite.importing.tensors import require_understood
from nnapi_shim.hints import NamedTuple


class Names(NamedTuple):
    """The names of inputs and outputs: tensor index -> name."""

    inputs: Mapping[int, str] = {}
    outputs: Mapping[int, str] = {}


def imported(file: File, graph: FileGraph, names: Names | None = None) -> Model:
    """The finished model of a graph.

    Raises BAD_DATA with all operators that NNAPI cannot express.
    """
    model, reasons = attempt(file, graph, names or Names())
    if reasons:
        raise import_error(graph, reasons)
    assert model is not None
    return model


def import_error(graph: FileGraph, reasons: Sequence[Reason]) -> NnapiError:
    """A one-line error: each reason with the number of operators and the first of them."""
    what = affected(reasons, len(graph.operators))
    return bad_data(
        f"{what} no place in an NNAPI model: {listed(reasons)}; {PARTIAL}",
        "import.tflite.no-counterpart",
    )


PARTIAL = "load(path, partial=True) and nnapi-shim run --partial leave them to LiteRT"


def attempt(
    file: File,
    graph: FileGraph,
    names: Names,
    shared: "Shared | None" = None,
    boundary: Boundary | None = None,
) -> tuple[Model | None, list[Reason]]:
    """The model and no reasons, or None and the reasons why NNAPI cannot express the graph.

    shared, boundary: of a graph that an operator calls.
    """
    is_inner = shared is not None
    shared = shared or Shared(file, (graph.number,))
    importing = Importing(file, graph, room=shared.room, is_inner=is_inner)
    importing.inner = shared.model
    reasons: list[Reason] = []
    importing.lower = partial(_lower, importing)
    importing.with_wide = shared.with_wide
    importing.wide |= wide.wide_tensors(graph)
    for at, index in enumerate(graph.inputs):
        try:
            own = stored_as(importing, index)
            kind = boundary.inputs[at] if boundary and at < len(boundary.inputs) else own
            define_stored(importing, index, importing.take(index, *kind))
        except NnapiError as error:
            reasons.append(Reason(None, f"input {importing.tensor(index)}", error.said))
    for operator in graph.operators:
        try:
            _lower(importing, operator)
        except NnapiError as error:
            reasons.append(Reason(operator.number, operator.name, error.message))
            importing.add_placeholders(operator)
    if not reasons:
        importing.model.notes = wide.notes(shared.with_wide)
        try:
            _finish(importing, names, boundary)
        except NnapiError as error:
            reasons.append(Reason(None, "the graph", error.message))
        except MALFORMED as error:
            reasons.append(Reason(None, "the graph", f"it is invalid ({error})"))
    importing.lower = no_lowering  # it refers to `importing`, and so to the bytes of the file
    return (None if reasons else importing.model), reasons


def _lower(importing: Importing, operator: Operator) -> None:
    if operator.unread:
        raise reason(operator.unread, "import.tflite.operator-unread")
    for index in (*operator.inputs, *operator.outputs, *operator.intermediates):
        if index is not None:
            require_understood(importing.tensor(index))
    if folded(importing, operator):
        return
    lowering = lowering_of(operator.name)
    if lowering is None:
        raise reason(
            why_not(operator.name, operator.custom is not None), "import.tflite.operator-unknown"
        )
    try:
        operator = with_scale_of_output(importing, operator)
        wide.check(importing, operator)
        if not ranks.lowered(importing, operator, lowering):
            lowering(importing, operator)
        wide.rounded(importing, operator, importing.wide)
    except MALFORMED as error:
        # The operator has fewer inputs, outputs or dimensions than its schema requires.
        raise reason(
            f"it has invalid operands or options ({error})", "import.tflite.operator-form"
        ) from error


def _finish(importing: Importing, names: Names, boundary: Boundary | None) -> None:
    graph, model = importing.graph, importing.model
    outputs: list[Operand] = []
    kinds = () if boundary is None else boundary.outputs or ()
    for at, index in enumerate(graph.outputs):
        output = stored(importing, index)
        if at < len(kinds):
            output = restored(importing, output, kinds[at])
        outputs.append(importing.own_output(output))
        model.name_operand(outputs[-1], names.outputs.get(index) or importing.tensor(index).name)
    for index, name in names.inputs.items():
        model.name_operand(importing.taken[index], name)
    carried = importing.carried_states()
    model.outputs(*outputs, *(state.output for state in carried))
    for state in carried:
        model.carry(state.input, state.output, state.initial)
    model.finish()


class Shared:
    """The graphs of IF and WHILE, each imported once for each kind of caller."""

    def __init__(self, file: File, path: tuple[int, ...]) -> None:
        self._file = file
        self._path = path
        self.room = Room(len(file.data))
        self.with_wide: dict[str, int] = {}
        """As in Importing, for all graphs."""
        self._models: dict[int, dict[Boundary, Model | NnapiError]] = {}

    def model(self, number: int, boundary: Boundary) -> Model:
        """The model of a graph for a caller; raises BAD_DATA with the first reason why it cannot be
        imported.
        """
        if not 0 <= number < len(self._file.graphs):
            raise reason(
                f"graph {number}; the file has {len(self._file.graphs)}",
                "import.tflite.graph-index",
            )
        if number in self._path:
            raise reason(f"graph {number} calls itself", "import.tflite.graph-recursion")
        if len(self._path) > MOST_NESTED:
            raise reason(f"graphs are nested {len(self._path)} deep", "import.tflite.graph-depth")
        models = self._models.setdefault(number, {})
        if boundary not in models:
            graph = self._file.graphs[number]
            if models:
                size = again_bytes(graph)
                self.room.take(size, f"graph {number}, imported again for other scales,")
            inner = Shared(self._file, (*self._path, number))
            inner._models, inner.room = self._models, self.room
            inner.with_wide = self.with_wide
            model, reasons = attempt(self._file, graph, Names(), inner, boundary)
            models[boundary] = model or reason(
                f"graph {number}: {reasons[0]}", "import.tflite.inner-graph"
            )
        cached = models[boundary]
        if isinstance(cached, NnapiError):
            raise cached.again()
        return cached


MOST_NESTED = 32
"""The deepest nesting of graphs."""
