"""Scan, and Loop with stacked results: their iterations, one after the other."""

from collections.abc import Sequence

import numpy as np

from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.control_flow import (
    give_names,
    graph_of,
    loop,
    lower_renamed,
)
from nnapi_shim.formats.onnx.importing.elementwise import Lowering
from nnapi_shim.formats.onnx.importing.graph import Importing, constant_value
from nnapi_shim.formats.onnx.importing.moves import checked_axis

MOST_NODES = 4096
"""The most nodes of all iterations."""


class _Iterations:
    """The iterations of the body of a node.

    variables: the names of their values before the first iteration. first: the output of the body
    that is the first variable; those behind the variables are stacked.
    """

    def __init__(
        self, graph: Importing, node: Node, variables: Sequence[str], first: int = 0
    ) -> None:
        self._graph = graph
        self._node = node
        self._body = graph_of(node, "body")
        self._variables = list(variables)
        self.count = 0
        self._first, self._last = first, first + len(variables)
        self.stacked: list[list[str]] = [[] for _ in self._body.outputs[self._last :]]
        """Result that is stacked -> its names in the iterations."""

    def add(self, before: Sequence[str], after: Sequence[str]) -> list[str]:
        """Lower an iteration; returns the names of the outputs in front of the variables.

        before, after: the inputs in front of the variables and behind them.
        """
        graph, body = self._graph, self._body
        self.count += 1
        if self.count * max(1, len(body.nodes)) > MOST_NODES:
            raise reason(
                f"its iterations, one after the other, are more than {MOST_NODES} operators",
                "import.onnx.unrolled.size",
            )
        inputs = [*before, *self._variables, *after]
        if len(inputs) != len(body.inputs) or len(body.outputs) < self._last:
            raise reason("its body has another number of variables", "import.onnx.loop.variables")
        names = dict(zip((item.name for item in body.inputs), inputs, strict=True))
        for name, item in body.constants.items():
            names[name] = graph.fresh()
            graph.values[names[name]] = constant_value(names[name], item)
        wanted = [item.name for item in body.outputs]
        results = lower_renamed(graph, body.nodes, names, wanted, {})
        self._variables = results[self._first : self._last]
        for names_of, name in zip(self.stacked, results[self._last :], strict=True):
            names_of.append(name)
        return results[: self._first]

    def finish(self, axes: Sequence[int]) -> None:
        """Make the variables and the results, stacked along axes, the outputs of the node."""
        if not self.count:
            raise reason("it has no iterations", "import.onnx.empty")
        give_names(self._graph, self._node, self._variables)
        outputs = self._node.outputs[len(self._variables) :]
        for names, axis, output in zip(self.stacked, axes, outputs, strict=False):
            if output:
                self._stack(names, axis, output)

    def _stack(self, names: Sequence[str], axis: int, output: str) -> None:
        graph = self._graph
        parts = []
        for name in names:
            shape = graph.value(name).shape
            at = checked_axis(axis, len(shape) + 1)
            sizes = graph.folded(np.array([*shape[:at], 1, *shape[at:]], np.int64))
            parts.append(graph.fresh())
            self._lower("Reshape", (name, sizes), parts[-1])
        self._lower("Concat", parts, output, axis=at)

    def part(self, name: str, axis: int, at: int) -> str:
        """The name of the part of a value at a position of an axis."""
        part = self._graph.fresh()
        self._lower("Gather", (name, self._graph.folded(np.array(at, np.int64))), part, axis=axis)
        return part

    def _lower(self, kind: str, inputs: Sequence[str], output: str, **attributes: int) -> None:
        node = self._node._replace(
            kind=kind, inputs=tuple(inputs), outputs=(output,), attributes=attributes
        )
        self._graph.lower(self._graph, node)


def _loop(graph: Importing, node: Node) -> None:
    """Loop: a WHILE, or its iterations if it has stacked results."""
    if len(graph_of(node, "body").outputs) <= 1 + len(node.inputs[2:]):
        loop(graph, node)
        return
    limit = graph.array(node.inputs[0]) if graph.has(node, 0) else None
    goes_on = graph.array(node.inputs[1]) if graph.has(node, 1) else np.ones(1, bool)
    if (limit is None and graph.has(node, 0)) or goes_on is None:
        raise reason(
            "it stacks results of its iterations, whose number is no constant",
            "import.onnx.loop.scan",
        )
    iterations = _Iterations(graph, node, node.inputs[2:], first=1)
    true = graph.folded(np.array(True))
    while goes_on.all() and (limit is None or iterations.count < limit.min()):
        number = graph.folded(np.array(iterations.count, np.int64))
        goes_on = graph.constant(iterations.add([number, true], [])[0], "whether it goes on")
    iterations.finish([0] * len(iterations.stacked))


def _scan(graph: Importing, node: Node) -> None:
    """Scan: an iteration for each part of its inputs along an axis."""
    if graph.opset < 9:
        raise reason("Scan before version 9 is not taken", "import.onnx.scan.version")
    count = node.attributes.get("num_scan_inputs", 0)
    if not 0 < count <= len(node.inputs):
        raise reason(f"its number of inputs to scan is {count}", "import.onnx.scan.inputs")
    variables, scanned = node.inputs[:-count], node.inputs[-count:]
    iterations = _Iterations(graph, node, variables)
    inputs = []
    for name, axis in zip(scanned, _each(node, "input_axes", count), strict=True):
        shape = graph.value(name).shape
        inputs.append((name, checked_axis(axis, len(shape))))
        size = shape[inputs[-1][1]]
        if size != graph.value(inputs[0][0]).shape[inputs[0][1]]:
            raise reason("its inputs have different numbers of parts", "import.onnx.scan.inputs")
    directions = _each(node, "input_directions", count)
    for at in range(size):
        parts = [
            iterations.part(*item, size - 1 - at if is_reversed else at)
            for item, is_reversed in zip(inputs, directions, strict=True)
        ]
        iterations.add([], parts)
    results = len(iterations.stacked)
    for names, is_reversed in zip(
        iterations.stacked, _each(node, "output_directions", results), strict=True
    ):
        if is_reversed:
            names.reverse()
    iterations.finish(_each(node, "output_axes", results))


def _each(node: Node, name: str, count: int) -> Sequence[int]:
    """Numbers of an attribute, one for each input or output that is scanned; 0 by default."""
    numbers: Sequence[int] = node.attributes.get(f"scan_{name}") or [0] * count
    if len(numbers) != count:
        raise reason(f"scan_{name} has {len(numbers)} numbers", "import.onnx.scan.inputs")
    return numbers


LOWERINGS: dict[str, Lowering] = {"Loop": _loop, "Scan": _scan}
