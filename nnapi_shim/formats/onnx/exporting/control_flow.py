"""IF as If, WHILE as Loop."""

import copy
from typing import Any

import numpy as np

from nnapi_shim.formats.graph.rule import RefusedError, Rule, anything, graph_inputs
from nnapi_shim.formats.graph.tensor import ExportGraph, Node, Tensor
from nnapi_shim.formats.onnx.exporting.constants import longs
from nnapi_shim.formats.onnx.exporting.inner import Inner
from nnapi_shim.formats.onnx.exporting.types import INT64
from nnapi_shim.hal.enums import OperandType as T


def _within(b: Any, graph: ExportGraph, inputs: list[Tensor], into: Any) -> list[Tensor]:
    """Lower a graph with the given inputs; returns its outputs."""
    own = copy.deepcopy(graph)  # ONNX names are unique across nested graphs
    for outer, inner in zip(inputs, own.inputs, strict=True):
        into.emit("Identity", [outer], [inner])
    into.run(own)
    b.refusals += into.refusals if into is not b else []
    return own.outputs


def _scalar(b: Any, condition: Tensor) -> Tensor:
    empty = longs(np.zeros(0))
    return b.node("Reshape", [condition, empty], sizes=(), type=T.TENSOR_BOOL8)  # type: ignore[no-any-return]


def _if(b: Any, op: Node) -> None:
    inputs = graph_inputs(op)
    if op.condition is None:
        raise RefusedError("its condition is omitted")
    branches = {}
    for name in ("then", "else"):
        inner = type(b)()
        outputs = _within(b, op.named[f"{name}_model"], inputs, inner)
        branches[f"{name}_branch"] = Inner(name, [], outputs, inner.emitted)
    b.emit("If", [_scalar(b, op.condition)], op.outputs, **branches)


def _while(b: Any, op: Node) -> None:
    """Loop; the condition is evaluated before the loop and after each iteration."""
    inputs = graph_inputs(op)
    start = _scalar(b, _within(b, op.condition_model, inputs, b)[0])
    inner = type(b)()
    iteration, is_running = Tensor(INT64, ()), Tensor(T.BOOL, ())  # type: ignore[arg-type]
    variables = [t.like() for t in op.body_model.inputs]
    results = _within(b, op.body_model, variables, inner)
    for variable in variables[len(results) :]:
        results = [*results, inner.node("Identity", [variable], like=variable)]
    repeated = type(b)()
    condition = _scalar(repeated, _within(b, op.condition_model, results, repeated)[0])
    nodes = [*inner.emitted, *repeated.emitted]
    body = Inner("body", [iteration, is_running, *variables], [condition, *results], nodes)
    unused = [t.like() for t in inputs[len(op.outputs) :]]
    b.emit("Loop", [None, start, *inputs], [*op.outputs, *unused], body=body)


RULES = {
    "IF": Rule("If", _if, native=anything),
    "WHILE": Rule("Loop", _while, native=anything),
}
