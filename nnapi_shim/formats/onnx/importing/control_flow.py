"""If and Loop as IF and WHILE, and operators that the file defines."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.model import Model
from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.operations import NONE
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Argument, Function, Graph, Node, Reference
from nnapi_shim.formats.onnx.importing.elementwise import Lowering
from nnapi_shim.formats.onnx.importing.graph import Importing, constant_value
from nnapi_shim.formats.onnx.importing.value import BYTES, Value

MOST_NESTED = 16
"""The deepest nesting of graphs and functions."""


def _if(graph: Importing, node: Node) -> None:
    """If; the branch of a constant condition takes its place."""
    branches = [graph_of(node, name) for name in ("then_branch", "else_branch")]
    condition = graph.array(node.inputs[0])
    if condition is not None:
        if condition.size != 1:
            raise reason("its condition has several values", "import.onnx.condition")
        _inline(graph, branches[0 if condition.any() else 1], node)
        return
    captured = _captured(graph, branches)
    inner = [_Inner(graph, branch, captured) for branch in branches]
    like: list[Operand | None] = [None] * len(branches[0].outputs)
    for branch in inner:
        branch.run([item.name for item in branch.graph.outputs], like)
        like = list(branch.operands)
    types = [[(v.type, v.shape) for v in branch.outputs] for branch in inner]
    if types[0] != types[1]:
        raise reason("its branches have results of different dimensions", "import.onnx.if.results")
    operands = [graph.operand(name) for name in captured]
    models = [branch.model for branch in inner]
    results = graph.several("IF", [graph.operand(node.inputs[0]), *models, *operands])
    for at, (result, (type, shape)) in enumerate(zip(results, types[0], strict=True)):
        graph.give(node, result, type, shape, at=at)


def graph_of(node: Node, name: str) -> Graph:
    """The graph of an attribute."""
    graph = node.attributes.get(name)
    if not isinstance(graph, Graph):
        raise reason(f"it has no {name}", "import.onnx.inner-graph")
    return graph


def _inline(graph: Importing, inner: Graph, node: Node) -> None:
    """Lower the nodes of a graph in place of a node."""
    with Deeper(graph):
        for name, item in inner.constants.items():
            graph.values[name] = constant_value(name, item)
        graph.lower_all(inner.nodes)
        give_names(graph, node, [item.name for item in inner.outputs])


def give_names(graph: Importing, node: Node, names: Sequence[str]) -> None:
    """Make values, by name, the outputs of a node."""
    for name, result in zip(node.outputs, names, strict=False):
        if name:
            graph.values[name] = graph.value(result)._replace(name=name)


def _deeper(depth: int) -> int:
    if depth >= MOST_NESTED:
        raise reason(f"graphs are nested more than {MOST_NESTED} deep", "import.onnx.graph-depth")
    return depth + 1


class Deeper:
    """Counts the nesting."""

    def __init__(self, graph: Importing) -> None:
        self._graph = graph

    def __enter__(self) -> None:
        self._graph.depth = _deeper(self._graph.depth)

    def __exit__(self, *error: Any) -> None:
        self._graph.depth -= 1


def _captured(graph: Importing, inner: Sequence[Graph]) -> list[str]:
    """The computed values around graphs that their nodes read."""
    names = dict.fromkeys(name for item in inner for name in free_names(item))
    captured = []
    for name in names:
        item = graph.value(name)
        if item.operand is not None:
            if item.rank > 4:
                raise reason(f"{name[:80]!r} has {item.rank} dimensions", "import.onnx.rank")
            captured.append(name)
    return captured


def free_names(graph: Graph) -> Iterable[str]:
    """The names that a graph reads and does not define."""
    own = {*graph.constants, *(item.name for item in graph.inputs), ""}
    for node in graph.nodes:
        for name in node.inputs:
            if name not in own:
                yield name
        for value in node.attributes.values():
            if isinstance(value, Graph):
                yield from (name for name in free_names(value) if name not in own)
        own.update(node.outputs)
    yield from (item.name for item in graph.outputs if item.name not in own)


class _Inner:
    """A branch or body as a model of its own.

    captured: names around it that become inputs, after its own. before: arguments in front of them.
    """

    def __init__(
        self,
        outer: Importing,
        graph: Graph,
        captured: Sequence[str],
        own: Sequence[tuple[str, Value, Operand | None]] = (),
    ) -> None:
        self.graph = graph
        self.importing = inner = Importing(outer.file, graph, outer.room, outer.hints)
        inner.depth = _deeper(outer.depth)
        inner.lower = outer.lower
        for name, value, like in own:
            inner.take(Argument(name, value.type, None), value.shape, like)
        for name in captured:
            value = outer.value(name)
            inner.take(Argument(name, value.type, None), value.shape, outer.operand(name))
        for name in free_names(graph):
            if name not in captured:
                inner.values[name] = outer.value(name)
        self.outputs: list[Value] = []
        self.operands: list[Operand] = []

    @property
    def model(self) -> Model:
        """The finished model."""
        model = self.importing.model
        model.outputs(*self.operands)
        model.finish()
        return model

    def run(self, names: Sequence[str], like: Sequence[Operand | None]) -> None:
        """Lower the nodes, and add outputs; like: operands with the scales of the outputs."""
        self.importing.lower_all(self.graph.nodes)
        for name, other in zip(names, like, strict=True):
            item = self.importing.value(name)
            self.outputs.append(item)
            if item.type in BYTES and other is not None and item.rank <= 4:
                operand = self.importing.operand(name)
                moved = self.importing.raw(operand, other.scale, other.zero_point)
                self.importing.define(name, moved, item.type, item.shape)
            self.operands.append(self.importing.output(name))


def loop(graph: Importing, node: Node) -> None:
    """Loop as WHILE: its variables, the number of the iteration, whether it goes on."""
    body = graph_of(node, "body")
    names = node.inputs[2:]
    if len(body.inputs) != 2 + len(names) or len(body.outputs) != 1 + len(names):
        raise reason("its body has another number of variables", "import.onnx.loop.variables")
    if not names:
        raise reason("it has no variables", "import.onnx.loop.variables")
    starts = [graph.value(name) for name in names]
    limit = graph.value(node.inputs[0]) if graph.has(node, 0) else None
    keep = graph.value(node.inputs[1]) if graph.has(node, 1) else None
    captured = _captured(graph, [body])
    iteration, condition = body.inputs[0].name, body.inputs[1].name
    operands = [graph.operand(name) for name in names]
    own: list[tuple[str, Value, Operand | None]] = [
        (item.name, value, operand)
        for item, value, operand in zip(body.inputs[2:], starts, operands, strict=True)
    ]
    own += [(iteration, Value("", "INT64", ()), None), (condition, Value("", "BOOL", ()), None)]
    inner = _Inner(graph, body, captured, own)
    inner.run([item.name for item in body.outputs[1:]], operands)
    for start, result in zip(starts, inner.outputs, strict=True):
        if (start.type, start.shape) != (result.type, result.shape):
            raise reason("its variables change their dimensions", "import.onnx.loop.dimensions")
    importing = inner.importing
    count = importing.make("ADD", [importing.operand(iteration), np.ones(1, np.int32), NONE])
    inner.operands += [count, importing.output(body.outputs[0].name)]
    starts_at = np.zeros(1, np.int32)
    first: Any = np.ones(1, bool) if keep is None else graph.operand(node.inputs[1])
    bound: list[Operand] = (
        []
        if limit is None or limit.array is not None
        else [graph.reshaped(graph.operand(node.inputs[0]), (1,))]
    )
    rest = [graph.operand(name) for name in captured]
    test = _condition(operands, rest, bound, limit)
    body_model = _with_bound(inner, bound)
    inputs = [test, body_model, *operands, starts_at, first, *rest, *bound]
    finals = graph.several("WHILE", inputs, output_count=len(names))
    for at, (final, start) in enumerate(zip(finals, starts, strict=True)):
        graph.give(node, final, start.type, start.shape, at=at)


def _with_bound(inner: _Inner, bound: Sequence[Operand]) -> Model:
    """The body, which takes and ignores the number of iterations."""
    for _ in bound:
        inner.importing.model.input("TENSOR_INT32", [1])
    return inner.model


def _condition(
    variables: Sequence[Operand],
    rest: Sequence[Operand],
    bound: Sequence[Operand],
    limit: Value | None,
) -> Model:
    """The model that says whether another iteration follows."""
    model = Model()
    for operand in variables:
        model.input(operand.type, operand.dimensions, operand.scale, operand.zero_point)
    count = model.input("TENSOR_INT32", [1])
    keep = model.input("TENSOR_BOOL8", [1])
    for operand in rest:
        model.input(operand.type, operand.dimensions, operand.scale, operand.zero_point)
    top: Any = [model.input("TENSOR_INT32", [1]) for _ in bound]
    if limit is not None and limit.array is not None:
        number = int(limit.array.reshape(-1)[0])
        top = [np.full(1, min(max(number, 0), 2**31 - 1), np.int32)]
    if top:
        more = model.operation("LESS", [count, top[0]])
        goes_on = model.operation("LOGICAL_AND", [keep, more])
    else:
        goes_on = model.operation("LOGICAL_AND", [keep, keep])
    model.outputs(goes_on)
    model.finish()
    return model


def call(graph: Importing, node: Node, function: Function) -> None:
    """Lower the nodes of a function in place of a node."""
    if any(isinstance(value, Graph) for value in node.attributes.values()):
        raise reason("it passes a graph to a function", "import.onnx.function.graph")
    inputs = (*node.inputs, *[""] * (len(function.inputs) - len(node.inputs)))
    names = dict(zip(function.inputs, inputs, strict=False))
    attributes = {**function.defaults, **node.attributes}
    results = lower_renamed(graph, function.nodes, names, function.outputs, attributes)
    give_names(graph, node, results)


def lower_renamed(
    graph: Importing,
    nodes: Iterable[Node],
    names: dict[str, str],
    outputs: Iterable[str],
    attributes: Mapping[str, Any],
) -> list[str]:
    """Lower nodes with new names for their outputs; returns the new names of `outputs`.

    names: name in the nodes -> name in the graph; others stay. attributes: those that the nodes
    refer to.
    """
    prefix = graph.fresh()
    names[""] = ""
    renamed = []
    for item in nodes:
        for name in item.outputs:
            names.setdefault(name, f"{prefix}/{name}")
        if any(isinstance(value, Graph) for value in item.attributes.values()):
            raise reason("its definition has inner graphs", "import.onnx.function.graph")
        renamed.append(
            item._replace(
                inputs=tuple(names.get(name, name) for name in item.inputs),
                outputs=tuple(names[name] for name in item.outputs),
                attributes=_resolved(item.attributes, attributes),
            )
        )
    with Deeper(graph):
        graph.lower_all(renamed)
    return [names.get(name, name) for name in outputs]


def _resolved(own: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, Any]:
    resolved = {}
    for name, value in own.items():
        if not isinstance(value, Reference):
            resolved[name] = value
        elif value.name in attributes:
            resolved[name] = attributes[value.name]
    return resolved


LOWERINGS: dict[str, Lowering] = {"If": _if}
