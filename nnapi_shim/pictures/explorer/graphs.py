"""A model as a graph of Model Explorer.

The identifier of an operation's node is its number, or a path such as 3/then/0 within a graph of IF
or WHILE. These graphs are layers: their nodes have a namespace.
"""

from collections.abc import Iterator
from itertools import count

from nnapi_shim import units
from nnapi_shim.api.model import Model
from nnapi_shim.api.view import GraphView, OperandView, OperationView
from nnapi_shim.pictures import wording
from nnapi_shim.pictures.explorer.schema import (
    Graph,
    GraphNode,
    IncomingEdge,
    KeyValue,
    MetadataItem,
)

INPUTS, OUTPUTS = "GraphInputs", "GraphOutputs"
"""Labels that Model Explorer knows."""
DEEPEST, MOST_INSIDE = 8, 5000
"""Limits of shown nested graphs: depth, and operations in total."""


def graph(model: Model, name: str) -> Graph:
    """The Model Explorer graph of a finished model.

    Raises BAD_STATE for an unfinished model.
    """
    model.runtime.require_finished()
    nodes = list(_Nodes().of(model.graph, "", "", 0))
    inputs, outputs = (len(side) for side in (model.input_operands, model.output_operands))
    facts = {
        "operations": str(len(model.operations)),
        "operands": str(len(model.operands)),
        "inputs": str(inputs),
        "outputs": str(outputs),
        "states": str(len(model.carried)),
    }
    return Graph(id=name or "model", nodes=nodes, groupNodeAttributes={"": facts})


class _Nodes:
    def __init__(self) -> None:
        self.inside = 0

    def of(self, graph: GraphView, path: str, namespace: str, depth: int) -> Iterator[GraphNode]:
        """The nodes of a graph and of the graphs that it refers to."""
        sources: dict[int, tuple[str, str]] = {}
        if graph.input_operands:
            yield _inputs(graph, path, namespace)
        for at, operand in enumerate(graph.input_operands):
            sources[operand.index] = (f"{path}inputs", str(at))
        for operation in graph.operations:
            for at, operand in enumerate(operation.outputs):
                sources[operand.index] = (f"{path}{operation.number}", str(at))
        for operation in graph.operations:
            inner = list(wording.subgraphs(operation))
            name = f"{operation.name} {operation.number}"
            layer = f"{namespace}/{name}".lstrip("/") if inner else namespace
            node = _node(operation, path, layer, sources)
            yield node
            for role, other in inner:
                self.inside += len(other.operations)
                if depth < DEEPEST and self.inside <= MOST_INSIDE:
                    yield from self.of(
                        other, f"{path}{operation.number}/{role}/", f"{layer}/{role}", depth + 1
                    )
                else:
                    node.attrs.append(
                        KeyValue(role, units.count(len(other.operations), "operation"))
                    )
        yield _outputs(graph, path, namespace, sources)


def _inputs(graph: GraphView, path: str, namespace: str) -> GraphNode:
    outputs = [_metadata(operand, str(at)) for at, operand in enumerate(graph.input_operands)]
    return GraphNode(f"{path}inputs", INPUTS, namespace, outputsMetadata=outputs)


def _outputs(
    graph: GraphView, path: str, namespace: str, sources: dict[int, tuple[str, str]]
) -> GraphNode:
    node = GraphNode(f"{path}outputs", OUTPUTS, namespace)
    for at, operand in enumerate(graph.output_operands):
        if operand.index in sources:
            node.incomingEdges.append(IncomingEdge(*sources[operand.index], str(at)))
        node.inputsMetadata.append(_tagged(wording.called(operand), str(at)))
    return node


def _node(
    operation: OperationView, path: str, namespace: str, sources: dict[int, tuple[str, str]]
) -> GraphNode:
    node = GraphNode(f"{path}{operation.number}", operation.name, namespace)
    node.attrs.append(KeyValue("operation", str(operation.number)))
    ports = count()
    for role, operand in zip(operation.roles, operation.inputs, strict=True):
        if operand.index in sources:
            at = str(next(ports))
            node.incomingEdges.append(IncomingEdge(*sources[operand.index], at))
            node.inputsMetadata.append(_tagged(role, at))
        elif operand.subgraph is None:
            node.attrs.append(KeyValue(role, _constant(operand, role)))
    for role, operand in zip(operation.output_roles, operation.outputs, strict=True):
        port = str(len(node.outputsMetadata))
        node.outputsMetadata.append(_metadata(operand, port, role))
    return node


def _constant(operand: OperandView, role: str) -> str:
    """A one-line text of a constant: the value of a scalar, the details of a tensor."""
    if operand.is_scalar:
        return wording.value(operand, role)
    return ", ".join(wording.operand_details(operand, role))


def _metadata(operand: OperandView, port: str, role: str = "") -> MetadataItem:
    """The side panel's entries for an operand; Model Explorer also shows `shape` at edges."""
    fields = {
        "__tensor_tag": role,
        "tensor_name": wording.called(operand),
        "operand": str(operand.index),
        "type": wording.type_name(operand),
        "shape": wording.dimensions(operand),
        **wording.quantization(operand),
        "lifetime": operand.lifetime.name,
    }
    return MetadataItem(port, [KeyValue(key, text) for key, text in fields.items() if text])


def _tagged(name: str, port: str) -> MetadataItem:
    return MetadataItem(port, [KeyValue("__tensor_tag", name)])
