"""From a model to a Graph: operands by name, constants as values, shapes as far as they follow."""

from collections.abc import Sequence
from typing import Any

from nnapi_shim.api.model import Model
from nnapi_shim.api.view import GraphView, OperandView, OperationView
from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.graph.tensor import Graph, Node, Tensor
from nnapi_shim.hal.types import is_known
from nnapi_shim.operations import declare
from nnapi_shim.operations.declare import BoundOperand
from nnapi_shim.operations.resolve import resolve


def read(model: Model) -> Graph:
    """The graph of a finished model, those that IF and WHILE refer to within it."""
    graph = _Reader("").graph(model)
    graph.carried = [
        (item.input, item.output, item.initial) for item in getattr(model, "carried", ())
    ]
    return graph


class _Reader:
    """Reads one graph; `prefix` makes names unique among the graphs of a model."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.tensors: dict[int, Tensor] = {}
        self.names: set[str] = set()
        self.inner = 0

    def graph(self, view: Model | GraphView) -> Graph:
        """The whole graph."""
        inputs = [self.tensor(operand) for operand in view.input_operands]
        nodes = [self.node(operation) for operation in view.operations]
        outputs = [self.tensor(operand) for operand in view.output_operands]
        return Graph(inputs, outputs, nodes)

    def tensor(self, operand: OperandView) -> Tensor:
        """The tensor of an operand, always the same."""
        found = self.tensors.get(operand.index)
        if found is None:
            name = operand.name or f"operand_{operand.index}"
            name = self.prefix + (name if name not in self.names else f"{name}_{operand.index}")
            self.names.add(name)
            found = self.tensors[operand.index] = Tensor(
                operand.type,
                operand.dimensions,
                operand.scale,
                operand.zero_point,
                name=name,
                value=operand.value,
                channel_quant=operand.channel_quant,
            )
        return found

    def node(self, item: OperationView) -> Node:
        """An operation; sets what follows from it for its outputs."""
        match = item.match
        assert match is not None, "a finished model has declared operations"
        outputs = [self.tensor(operand) for operand in item.outputs]
        named: dict[str, Any] = {}
        for at, (role, operand) in enumerate(zip(item.roles, item.inputs, strict=True)):
            value = self.operand(operand, at in match.value_positions)
            if role == match.repeated[0]:
                named.setdefault(role, []).append(value)
            else:
                named[role] = value
        for role, output in zip(item.output_roles, outputs, strict=True):
            if role == match.repeated[1]:
                named.setdefault(role, []).append(output)
            else:
                named[role] = output
        self.resolve(item, outputs)
        return Node(item.name, named, outputs, item.number)

    def operand(self, operand: OperandView, is_value: bool) -> Any:
        """What the name of an input stands for."""
        if operand.is_omitted:
            return None
        if operand.subgraph is not None:
            self.inner += 1
            return _Reader(f"{self.prefix}graph_{self.inner}/").graph(operand.subgraph)
        if is_value and operand.value is not None:
            listed = operand.value.ravel().tolist()
            return listed[0] if operand.is_scalar else tuple(listed)
        return self.tensor(operand)

    def resolve(self, item: OperationView, outputs: Sequence[Tensor]) -> None:
        """Dimensions and parameters of outputs, where they follow from what is known."""
        match = item.match
        assert match is not None
        if item.name in ("IF", "WHILE"):
            return
        known = all(
            operand.is_omitted or is_known(t.type, t.dimensions)
            for operand in item.inputs
            for t in [self.tensor(operand)]
        )
        values = [self.bound(o, at in match.value_positions) for at, o in enumerate(item.inputs)]
        if not known or any(value is declare.UNSET for value in values):
            return
        bound = [BoundOperand(-1, t.type, t.dimensions, t.scale, t.zero_point) for t in outputs]
        op = match.operation.bind(
            match, values, bound, lambda at: _bound(self.tensor(item.inputs[at]))
        )
        try:
            resolve(op)
        except NnapiError:
            return  # what a run would refuse; the other runtime will have its own word on it
        for output, found in zip(outputs, bound, strict=True):
            output.dimensions = found.dimensions
            output.scale, output.zero_point = found.scale, found.zero_point

    def bound(self, operand: OperandView, is_value: bool) -> Any:
        """An input as declarations take it."""
        if operand.is_omitted:
            return None
        if not is_value:
            return _bound(self.tensor(operand))
        value = operand.value
        if value is None:
            return declare.UNSET
        listed = value.ravel().tolist()
        return listed[0] if operand.is_scalar else tuple(listed)


def _bound(t: Tensor) -> BoundOperand:
    return BoundOperand(-1, t.type, t.dimensions, t.scale, t.zero_point, t.channel_quant)
