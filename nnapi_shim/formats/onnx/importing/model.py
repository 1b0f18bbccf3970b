"""Imports the graph of a file as a finished model, or collects the reasons why it cannot."""

from collections.abc import Callable, Mapping, Sequence

from nnapi_shim.api.model import Model
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.formats.importing.allocation import Room
from nnapi_shim.formats.importing.reason import MALFORMED, Reason, affected, listed, reason
from nnapi_shim.formats.onnx.file import File, Node
from nnapi_shim.formats.onnx.importing import control_flow, fusing
from nnapi_shim.formats.onnx.importing.folding import folded
from nnapi_shim.formats.onnx.importing.graph import Importing
from nnapi_shim.formats.onnx.importing.hints import hints_of
from nnapi_shim.formats.onnx.importing.table import LOWERINGS, why_not

NEWEST_OPSET = 28
"""The newest version of the standard operators that this import knows."""

OLDEST_OPSET = 6
"""The oldest one: before, operators had attributes for memory that is reused."""

Sizes = Mapping[str, tuple[int, ...]]
"""Name of an input -> its dimensions."""


def imported(file: File, shapes: Sizes) -> Model:
    """The finished model. Raises BAD_DATA with all nodes that NNAPI cannot express."""
    model, reasons = attempt(file, shapes)
    if reasons:
        raise import_error(len(file.graph.nodes), reasons)
    assert model is not None
    return model


def import_error(total: int, reasons: Sequence[Reason]) -> NnapiError:
    """A one-line error: each reason with the number of nodes and the first of them."""
    what = affected(reasons, total)
    return bad_data(
        f"{what} no place in an NNAPI model: {listed(reasons)}; {PARTIAL}",
        "import.onnx.no-counterpart",
    )


PARTIAL = "load(path, partial=True) and nnapi-shim run --partial leave them to ONNX Runtime"


def attempt(file: File, shapes: Sizes) -> tuple[Model | None, list[Reason]]:
    """The model and no reasons, or None and the reasons why NNAPI cannot express the graph."""
    require_opset(file)
    graph = file.graph
    importing = Importing(file, graph, Room(len(file.data)), hints_of(graph))
    importing.lower = lower
    reasons: list[Reason] = []
    for item in graph.inputs:
        _noting(reasons, None, "the graph", lambda i=item: importing.take(i, shapes[i.name]))  # type: ignore[misc]
    if reasons:
        importing.missing.update(item.name for item in graph.inputs)
    for node in graph.nodes:
        if importing.missing.isdisjoint(node.inputs):
            done = _noting(reasons, node.number, node.kind, lambda n=node: lower(importing, n))  # type: ignore[misc]
        else:
            done = False  # a value that it reads is that of a refused node
        if not done:
            importing.missing.update(filter(None, node.outputs))
    if not reasons:
        finish(importing, reasons)
    return (None if reasons else importing.model), reasons


def require_opset(file: File) -> None:
    """Refuse versions of the standard operators that this import does not know."""
    if not OLDEST_OPSET <= file.opset <= NEWEST_OPSET:
        raise bad_data(
            f"it uses opset {file.opset}; supported are {OLDEST_OPSET} to {NEWEST_OPSET}",
            "import.onnx.opset",
        )


def _noting(reasons: list[Reason], number: int | None, name: str, call: Callable[[], None]) -> bool:
    """Whether a call succeeds; a refusal becomes a reason."""
    try:
        call()
    except NnapiError as error:
        reasons.append(Reason(number, name, error.message))
        return False
    return True


def lower(importing: Importing, node: Node) -> None:
    """Add the operations of a node."""
    if node.kind in importing.file.functions:
        control_flow.call(importing, node, importing.file.functions[node.kind])
        return
    if None in node.attributes.values():
        raise reason("an attribute has a type that is not read", "import.onnx.attribute-type")
    if id(node) in importing.done:
        return
    try:
        first = node.outputs[0] if node.outputs else ""
        if first not in importing.quantized and fusing.deferred(importing, node):
            return
        if folded(importing, node) or fusing.fused(importing, node):
            return
        lowering = LOWERINGS.get(node.kind)
        if lowering is None:
            raise reason(why_not(node.kind), "import.onnx.operator-unknown")
        lowering(importing, node)
    except MALFORMED as error:
        # The node has fewer inputs, outputs or dimensions than its operator requires.
        raise reason(
            f"it has invalid inputs or attributes ({error})", "import.onnx.operator-form"
        ) from error


def finish(importing: Importing, reasons: list[Reason]) -> None:
    """Set the outputs and finish the model. A refused output is a reason of its node."""
    model = importing.model
    writers = {name: node for node in importing.graph.nodes for name in node.outputs}
    operands = []

    def give(name: str) -> None:
        operands.append(importing.output(name))
        model.name_operand(operands[-1], name)

    for item in importing.graph.outputs:
        node = writers.get(item.name)
        number, kind = (None, "the graph") if node is None else (node.number, node.kind)
        _noting(reasons, number, kind, lambda i=item: give(i.name))  # type: ignore[misc]

    def end() -> None:
        model.outputs(*operands)
        model.finish()

    if not reasons:
        _noting(reasons, None, "the graph", end)
