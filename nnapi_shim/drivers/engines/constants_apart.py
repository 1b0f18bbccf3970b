"""Models in which no two nodes read the same signed constant, for an option of ONNX Runtime.

With session.x64quantprecision it makes unsigned constants of signed ones, and refuses a model in
which it finds one a second time.
"""

from typing import Any

import onnx


def with_constants_apart(content: bytes) -> bytes:
    """A .onnx file with a copy of each constant of signed bytes for each node that computes with
    it.
    """
    model = onnx.load_from_string(content)
    graph = model.graph
    constants = {
        each.name: each for each in graph.initializer if each.data_type == onnx.TensorProto.INT8
    }
    kept = {each.name for each in graph.output}
    readers: dict[str, list[tuple[Any, int]]] = {}
    for node in graph.node:
        for at, name in enumerate(node.input):
            readers.setdefault(name, []).append((node, at))
    nodes, taken = [], set(readers)
    copies = _Copies(graph, constants, taken)
    for node in graph.node:
        nodes.append(node)
        if node.op_type != "DequantizeLinear" or node.input[0] not in constants:
            continue
        for reader, at in readers.get(node.output[0], ())[node.output[0] not in kept :]:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.name, copy.output[0] = copies.name(node.name), copies.name(node.output[0])
            reader.input[at] = copy.output[0]
            nodes.append(copy)
    for node in nodes:
        for at, name in enumerate(node.input):
            if name in constants:
                node.input[at] = copies.of(name)
    made = onnx.GraphProto()
    made.node.extend(nodes)
    del graph.node[:]
    graph.node.extend(made.node)
    return bytes(model.SerializeToString())


class _Copies:
    """Copies of constants, and names that nothing has."""

    def __init__(self, graph: Any, constants: dict[str, Any], taken: set[str]) -> None:
        self._graph, self._constants, self._taken = graph, constants, taken
        self._used: set[str] = set()

    def name(self, like: str) -> str:
        """A name that nothing has."""
        number = 1
        while f"{like}_{number}" in self._taken:
            number += 1
        self._taken.add(f"{like}_{number}")
        return f"{like}_{number}"

    def of(self, name: str) -> str:
        """The constant itself for its first reader, copies for all others."""
        if name not in self._used:
            self._used.add(name)
            return name
        copy = self._graph.initializer.add()
        copy.CopyFrom(self._constants[name])
        copy.name = self.name(name)
        return str(copy.name)
