"""Reads a model into an ExportGraph: operands by name, constant values, inferred shapes."""

from typing import Any

from nnapi_shim.api.model import Model
from nnapi_shim.api.view import GraphView, OperandView, OperationView
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.formats.graph.tensor import ExportGraph, Node, Tensor
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations import declare
from nnapi_shim.operations.declare import BoundOperand
from nnapi_shim.operations.resolve import resolve

GUESSES = ((2, 96), (3, 160))
"""Trial sizes for unknown dimensions: the first dimension (often the batch), the others."""


LARGEST = 2**31 - 2**24
"""The most bytes of constants in a file: its offsets are signed 32-bit."""


def read(model: Model) -> ExportGraph:
    """The graph of a finished model, with the models of IF and WHILE inside."""
    graph = read_graph(model)
    graph.carried = [
        (item.input, item.output, item.initial) for item in getattr(model, "carried", ())
    ]
    return graph


def is_large(model: Model | GraphView) -> bool:
    """Whether the constants have more bytes than a file can."""
    values = [operand.value for operand in model.operands if operand.value is not None]
    return sum(value.nbytes for value in values) > LARGEST


def read_graph(model: Model | GraphView, any_size: bool = False) -> ExportGraph:
    """The graph of a finished model, without the states that the Python API carries.

    any_size: whether constants are in no file, so that they may be large.
    """
    try:
        graph = _Reader("").graph(model)
    except RecursionError:
        raise bad_data(
            "the model has more nested graphs than can be written", "export.nested-graphs"
        ) from None
    if not any_size and is_large(model):
        raise bad_data(
            "the constants of the model have more than 2 GB, the limit of a file",
            "export.constants-too-large",
        )
    return graph


class _Reader:
    """Reads one graph; `prefix` makes names unique among the graphs of a model."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.tensors: dict[int, Tensor] = {}
        self.names: set[str] = set()
        self.unnamed: dict[int, str] = {}
        self.inner = 0

    def graph(self, view: Model | GraphView) -> ExportGraph:
        """Read the whole graph."""
        inputs = [
            self.tensor(operand, f"input_{at}") for at, operand in enumerate(view.input_operands)
        ]
        for at, operand in enumerate(view.output_operands):
            self.unnamed.setdefault(operand.index, f"output_{at}")
        nodes = [self.node(item) for item in view.operations if item.match is not None]
        outputs = [self.tensor(operand) for operand in view.output_operands]
        self.infer(view)
        graph = ExportGraph(inputs, outputs, nodes)
        graph.foreign = [
            f"operation {item.number} {item.name}: the specification does not define it"
            for item in view.operations
            if item.match is None
        ]
        return graph

    def tensor(self, operand: OperandView, unnamed: str = "") -> Tensor:
        """The tensor of an operand, one object for each; `unnamed`: the name if the operand has
        none.

        Inputs and outputs have the names of `Compilation.input_names` and `output_names`.
        """
        cached = self.tensors.get(operand.index)
        if cached is None:
            index = operand.index
            name = operand.name or unnamed or self.unnamed.get(index) or f"operand_{index}"
            name = name.encode("utf-8", "replace").decode()  # a C program may pass any bytes
            name = self.prefix + (name if name not in self.names else f"{name}_{operand.index}")
            self.names.add(name)
            cached = self.tensors[operand.index] = Tensor(
                operand.type,
                operand.dimensions,
                operand.scale,
                operand.zero_point,
                name=name,
                value=operand.value,
                channel_quant=operand.channel_quant,
            )
        return cached

    def node(self, item: OperationView) -> Node:
        """Read an operation; infers the dimensions and parameters of its outputs."""
        match = item.match
        assert match is not None
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
        return Node(item.name, named, outputs, item.number)

    def operand(self, operand: OperandView, is_value: bool) -> Any:
        """The value bound to an input's name."""
        if operand.is_omitted:
            return None
        if operand.subgraph is not None:
            self.inner += 1
            return _Reader(f"{self.prefix}graph_{self.inner}/").graph(operand.subgraph)
        if is_value and operand.value is not None:
            listed = operand.value.ravel().tolist()
            return listed[0] if operand.is_scalar else tuple(listed)
        return self.tensor(operand)

    def infer(self, view: Model | GraphView) -> None:
        """Set the dimensions and parameters that follow from the known ones.

        With unknown input sizes, shapes are inferred for two trial sizes; a size that is equal in
        both is known.
        """
        guesses = [self.guessed(view, guess) for guess in range(len(GUESSES))]
        for index, tensor in self.tensors.items():
            sizes = [sizes[index] for sizes in guesses if index in sizes]
            if len(sizes) == len(GUESSES) and tensor.value is None:
                first, *others = sizes
                if all(len(other) == len(first) for other in others):
                    columns = zip(*sizes, strict=True)
                    tensor.dimensions = tuple(c[0] if len(set(c)) == 1 else 0 for c in columns)

    def guessed(self, view: Model | GraphView, guess: int) -> dict[int, Dimensions]:
        """The dimensions of all operands with unknown sizes replaced by one entry of GUESSES."""
        dimensions: dict[int, Dimensions] = {}
        for index, tensor in self.tensors.items():
            if tensor.type in SCALARS or tensor.dimensions or tensor.value is not None:
                dimensions[index] = _filled(tensor.dimensions, guess)
        declared = [operation for operation in view.operations if operation.match is not None]
        for index in {o.index for operation in declared for o in operation.outputs}:
            if 0 in self.tensors[index].dimensions:
                del dimensions[index]
        for operation in declared:
            self.resolve(operation, dimensions, guess)
        return dimensions

    def resolve(self, item: OperationView, dimensions: dict[int, Dimensions], guess: int) -> None:
        """Infer the dimensions of an operation's outputs from those of its inputs."""
        match = item.match
        assert match is not None
        known = all(
            operand.is_omitted or operand.is_constant or operand.index in dimensions
            for operand in item.inputs
        )
        if item.name not in ("IF", "WHILE") and known:
            values = [
                self.bound(operand, at in match.value_positions, dimensions)
                for at, operand in enumerate(item.inputs)
            ]
            tensors = [self.tensors[operand.index] for operand in item.outputs]
            outputs = [BoundOperand(-1, t.type, (), t.scale, t.zero_point) for t in tensors]
            if all(value is not declare.UNSET for value in values):
                op = match.operation.bind(
                    match, values, outputs, lambda at: self.sized(item.inputs[at], dimensions)
                )
                try:
                    resolve(op)
                except NnapiError:
                    outputs = []  # an execution would refuse it; the target runtime decides
                for operand, tensor, output in zip(item.outputs, tensors, outputs, strict=False):
                    tensor.scale, tensor.zero_point = output.scale, output.zero_point
                    if not (match.operation.data_dependent and 0 in output.dimensions):
                        dimensions[operand.index] = output.dimensions
        for operand in item.outputs:
            if operand.index not in dimensions and operand.dimensions:
                dimensions[operand.index] = _filled(operand.dimensions, guess)

    def sized(self, operand: OperandView, known: dict[int, Dimensions]) -> BoundOperand:
        """An operand with its inferred dimensions."""
        t = self.tensor(operand)
        sizes = known.get(operand.index, t.dimensions)
        return BoundOperand(-1, t.type, sizes, t.scale, t.zero_point, t.channel_quant)

    def bound(self, operand: OperandView, is_value: bool, known: dict[int, Dimensions]) -> Any:
        """An input in the form that declarations take."""
        if operand.is_omitted:
            return None
        if not is_value:
            return self.sized(operand, known)
        value = operand.value
        if value is None:
            return declare.UNSET
        listed = value.ravel().tolist()
        return listed[0] if operand.is_scalar else tuple(listed)


def _filled(sizes: Dimensions, guess: int) -> Dimensions:
    """Dimensions with each unknown size replaced by the trial size."""
    first, others = GUESSES[guess]
    return tuple(n or (others if at else first) for at, n in enumerate(sizes))
