"""Imports a graph: maps the tensors of the file to operands of the model."""

from collections.abc import Callable, Sequence

import numpy as np

from nnapi_shim.api.arrays import DTYPES as DTYPES_OF
from nnapi_shim.api.arrays import Array
from nnapi_shim.api.model import Model
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.signature import Input
from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.importing.allocation import Room
from nnapi_shim.formats.importing.operations import Operations
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import DTYPES, File, FileGraph, Operator, Tensor
from nnapi_shim.formats.tflite.importing.byte_weights import stored_matrices
from nnapi_shim.formats.tflite.importing.tensors import (
    OPERAND_TYPES,
    constant,
    operand_parameters,
    real_values,
)
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hints import NamedTuple
from nnapi_shim.operations import operation as declaration_of
from nnapi_shim.operations.declare import declared

BYTES = (T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED)


class State(NamedTuple):
    """A state that is carried from run to run. initial: its value in the first run."""

    input: Operand
    output: Operand
    initial: Array


Stored = tuple[T, float, int]
"""Type, scale and zero point."""


class Boundary(NamedTuple):
    """How a caller stores the inputs and outputs of a graph. outputs: None if as the graph does."""

    inputs: tuple[Stored, ...]
    outputs: tuple[Stored, ...] | None = None


class Importing(Operations):
    """A model under construction, with operands by tensor index.

    An operand is added at its first use. Operators of a file are in execution order, so the inputs
    of each exist when it is lowered.
    """

    def __init__(
        self, file: File, graph: FileGraph, *, room: Room | None = None, is_inner: bool = False
    ) -> None:
        super().__init__(room or Room(len(file.data)))
        self.file = file
        self.graph = graph
        self.is_inner = is_inner
        self.partial: dict[int | None, Array] = {}
        """Tensor index -> partly known value; unknown numbers are -1."""
        self.lower: Callable[[Operator], None] = no_lowering
        """Lowers an operator."""
        self.nested: list[int] = []
        """The composite graphs that enclose the current operator."""
        self.taken: dict[int, Operand] = {}
        """Tensor index -> model input."""
        self.inner: Callable[[int, Boundary], Model] = _no_inner
        """Returns the model of another graph of the file, by its index, for a caller."""
        self.held: dict[int | None, tuple[Operand, tuple[int, ...]]] = {}
        """Tensors of rank above 4 -> an operand with the same elements, and the dimensions."""
        self.wide: set[int] = set()
        """16-bit tensors whose operands are float32: see `wide`."""
        self.with_wide: dict[str, int] = {}
        """Operator name -> number of operators with such tensors."""
        self.handles: dict[int | None, str] = {}
        """Handle tensor -> variable name."""
        self.variables: dict[str, Operand] = {}
        """Variable name -> current value."""
        self.first: dict[str, Operand] = {}
        """Variable name -> the input with the value from the previous run."""
        self.initial: dict[str, Array] = {}
        """Variable name -> initial value."""
        self._operands: dict[int, Operand] = {}
        self._values: dict[int, Array] = {}
        self._reals: dict[int, Operand] = {}
        self._stored: frozenset[int | None] | None = None
        """The 8-bit weights that the model converts; None until they are needed."""
        self._tensors = list(graph.tensors)
        self._given = {*graph.inputs, *(i for o in graph.operators for i in o.outputs)}
        self._states: dict[Operand, State] = {}

    # Tensors

    def tensor(self, index: int | None) -> Tensor:
        """A tensor of the file."""
        if index is None:
            raise reason("a required input is omitted", "import.tflite.input-omitted")
        return self._tensors[index]

    def add_tensor(self, tensor: Tensor) -> int:
        """Add a tensor that the file does not have; returns its number."""
        number = len(self._tensors)
        self._tensors.append(tensor._replace(number=number))
        if tensor.number in self.wide:
            self.wide.add(number)
        self._given.add(number)
        return number

    def value(self, index: int | None) -> Array | None:
        """The value of a tensor that is constant, or follows from constants and shapes."""
        if index is None:
            return None
        cached = self._values.get(index)
        tensor = self.tensor(index)
        if cached is None and tensor.value is None and self._is_empty(tensor):
            return self.room.empty(tensor.shape, DTYPES.get(tensor.type), str(tensor))
        return tensor.value if cached is None else cached

    def _is_empty(self, tensor: Tensor) -> bool:
        """Whether the tensor is a constant without elements, which has no data in the file
        either.
        """
        return 0 in tensor.shape and tensor.number not in self._given

    def numbers(self, index: int | None, what: str) -> list[int]:
        """Integers that must be known at import. Raises BAD_DATA for values computed by a run."""
        value = self.value(index)
        if value is None:
            raise reason(
                f"{what} ({self.tensor(index)}) is no constant", "import.tflite.not-constant"
            )
        if value.dtype.kind != "i":
            raise reason(
                f"{what} ({self.tensor(index)}) is {value.dtype}", "import.tflite.not-integers"
            )
        return [int(number) for number in value.reshape(-1)]

    def integers(self, index: int | None) -> Input:
        """Integers as an int32 constant, or as an operand if they are computed by a run."""
        value = self.value(index)
        return self.operand(index) if value is None else self.sizes(value.reshape(-1).tolist())

    def fold(self, index: int, value: Array) -> None:
        """Record the value of a tensor that does not depend on model inputs."""
        self._values[index] = value

    def add_placeholders(self, operator: Operator) -> None:
        """Add placeholder operands for the outputs of a refused operator, to check the rest."""
        for index in operator.outputs:
            tensor = self.tensor(index)
            if index not in self._operands and tensor.type in OPERAND_TYPES:
                try:
                    type, scale, zero_point = self.parameters(tensor)
                    placeholder = self.model.add_operand(type, tensor.dimensions, scale, zero_point)
                except NnapiError:
                    continue  # its readers are refused
                self._operands[index] = placeholder

    def parameters(self, tensor: Tensor) -> Stored:
        """Type, scale and zero point of the operand of a tensor."""
        return operand_parameters(tensor, tensor.number in self.wide)

    def operand_type(self, index: int) -> Stored:
        """Type, scale and zero point of a tensor's operand."""
        type, scale, zero_point = self.parameters(self.tensor(index))
        return type, float(np.float32(scale)), zero_point

    def operand(self, index: int | None) -> Operand:
        """The operand of a tensor."""
        tensor = self.tensor(index)
        if tensor.number not in self._operands:
            if index in self.held:
                self.define(tensor.number, self.reshaped(*self.held[index]))
                return self._operands[tensor.number]
            value = self.value(index)
            if value is None:
                self.parameters(tensor)
                if index in self.partial:
                    raise reason(
                        "dimensions that it needs are unknown before a run",
                        "import.tflite.dynamic-dimensions",
                    )
                if tensor.is_sparse:
                    raise reason(f"{tensor} is sparse", "import.tflite.sparse")
                raise reason(f"{tensor} has no value", "import.tflite.no-value")
            self.define(tensor.number, self._constant(tensor, value))
        return self._operands[tensor.number]

    def operands(self, indexes: Sequence[int | None]) -> list[Operand]:
        """The operands of several tensors."""
        return [self.operand(index) for index in indexes]

    def optional(self, operator: Operator, at: int) -> Operand | None:
        """The operand of an input that may be omitted."""
        index = operator.inputs[at] if at < len(operator.inputs) else None
        return None if index is None else self.operand(index)

    def _constant(self, tensor: Tensor, value: Array) -> Operand:
        if tensor.is_sparse:
            raise reason(f"{tensor} is sparse", "import.tflite.sparse")
        return constant(self.model, tensor, value, tensor.number in self.wide)

    def define(self, index: int, operand: Operand) -> None:
        """Set the operand of a tensor, and name it after the tensor."""
        self._operands[index] = operand
        name = self.tensor(index).name
        if name and not operand.name:
            self.model.name_operand(operand, name)

    def reals(self, index: int | None) -> Operand:
        """A tensor as TENSOR_FLOAT32: constants are converted at import, others by the model."""
        tensor, value = self.tensor(index), self.value(index)
        if tensor.type == "FLOAT32" or value is None:
            return self.real(self.operand(index))
        if tensor.number not in self._reals:
            self.room.take(4 * value.size, f"{tensor} in float32")
            self._reals[tensor.number] = self.model.constant(real_values(tensor, value))
        return self._reals[tensor.number]

    def weights(self, index: int | None) -> Operand:
        """As `reals`, for weights: large 8-bit ones are converted by the model."""
        number = self.tensor(index).number
        if self.stays_stored(number) and number not in self._reals:
            self._reals[number] = self.real(self.operand(number))
        return self.reals(number)

    def stays_stored(self, number: int) -> bool:
        """Whether a tensor is weights that the model keeps as bytes, or what DEQUANTIZE makes of
        such weights.
        """
        if self._stored is None:
            self._stored = frozenset() if self.is_inner else stored_matrices(self.graph)
        return number in self._stored

    def is_rank_0(self, index: int | None) -> bool:
        """Whether a tensor is a scalar in the file, and so of rank 1 in the model."""
        return not self.tensor(index).shape

    # Inputs, outputs, states

    def take(self, index: int, type: T, scale: float, zero_point: int) -> Operand:
        """Make a tensor the next input of the model, stored so."""
        tensor = self.tensor(index)
        operand = self.model.input(type, tensor.dimensions or (1,), scale, zero_point)
        self.inputs.add(operand.index)
        self.taken[index] = operand
        if tensor.name:
            self.model.name_operand(operand, tensor.name)
        return operand

    def replace(self, index: int, change: Callable[[Operand], Operand]) -> None:
        """Replace the operand of a tensor by one derived from it."""
        if index in self.held:
            operand, shape = self.held[index]
            self.held[index] = change(operand), shape
        elif index in self._operands:
            self._operands[index] = change(self._operands[index])

    def state(
        self,
        name: str,
        shape: Sequence[int],
        type: T = T.TENSOR_FLOAT32,
        scale: float = 0.0,
        zero_point: int = 0,
        initial: Array | None = None,
    ) -> Operand:
        """A new input with the value that `carry` names in the previous run."""
        if self.is_inner:
            raise reason("an inner graph has a state", "import.tflite.state.inner-graph")
        shape = tuple(shape) or (1,)
        if 0 in shape:
            raise reason(
                f"the dimensions of its state {name!r} are unknown before a run",
                "import.tflite.dynamic-dimensions",
            )
        if initial is None:
            what = f"its state {name!r}"
            initial = self.room.filled(shape, zero_point, DTYPES_OF[type], what)
        operand = self.model.input(type, shape, scale, zero_point)
        self.inputs.add(operand.index)
        self.model.name_operand(operand, name)
        self._states[operand] = State(operand, operand, initial)
        return operand

    def carry(self, state: Operand, output: Operand) -> None:
        """Name the operand with the value of the state in the next run."""
        self._states[state] = self._states[state]._replace(output=output)

    def carried_states(self) -> list[State]:
        """All states. Operands without a producing operation are copied, as outputs need one."""
        for name, operand in self.first.items():
            self.carry(operand, self.variables[name])
        states = list(self._states.values())
        return [state._replace(output=self.own_output(state.output)) for state in states]

    def output(self, index: int) -> Operand:
        """The operand of an output: written by an operation, and of no other output."""
        return self.own_output(self.operand(index))

    # Operations

    def like(self, type: str, inputs: Sequence[Input], tensor: Tensor) -> Operand:
        """Add an operation whose output has the type, scale and zero point of a tensor."""
        kind, scale, zero_point = self.parameters(tensor)
        try:
            return self._like(type, inputs, tensor, kind, scale, zero_point)
        except NnapiError as refusal:
            reals = [
                self.real(it) if isinstance(it, Operand) and it.type in BYTES else it
                for it in inputs
            ]
            if all(real is it for real, it in zip(reals, inputs, strict=True)):
                raise
            try:
                result = self.make(type, reals, dimensions=tensor.dimensions)
            except NnapiError:
                raise refusal from None
            return self.requantized(result, kind, scale, zero_point)

    def _like(
        self,
        type: str,
        inputs: Sequence[Input],
        tensor: Tensor,
        kind: T,
        scale: float,
        zero_point: int,
    ) -> Operand:
        sizes = tensor.dimensions
        if kind not in QUANTIZED_RANGE:
            return self.make(type, inputs, output=kind, dimensions=sizes, zero_point=zero_point)
        if _is_free(type):
            parameters = {"scale": scale, "zero_point": zero_point}
            return self.make(type, inputs, output=kind, dimensions=sizes, **parameters)
        result = self.make(type, inputs, dimensions=sizes)
        return self.requantized(result, kind, scale, zero_point)

    def add(self, type: str, inputs: Sequence[Input], operator: Operator, *, at: int = 0) -> None:
        """Add an operation that computes an output of an operator."""
        index = operator.outputs[at]
        self.define(index, self.like(type, inputs, self.tensor(index)))

    def give(self, operator: Operator, operand: Operand, at: int = 0) -> None:
        """Make an operand, requantized if needed, an output of an operator."""
        index = operator.outputs[at]
        self.define(index, self.requantized(operand, *self.parameters(self.tensor(index))))


def no_lowering(operator: Operator) -> None:
    """What `Importing.lower` is before and after the import of its operators."""
    raise reason("no lowering is available", "import.tflite.operator-unknown")


def _no_inner(number: int, boundary: Boundary) -> Model:
    raise reason(f"graph {number} is not available", "import.tflite.inner-graph-missing")


def _is_free(type: str) -> bool:
    """Whether the output of an operation may have any scale and zero point."""
    return declaration_of(OperationType[type]).quantization is declared
