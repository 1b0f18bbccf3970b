"""A graph of a file on its way to a model: the operands that stand for its tensors."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.api.arrays import DTYPES as DTYPES_OF
from nnapi_shim.api.arrays import Array
from nnapi_shim.api.model import Model
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.signature import Input
from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.tflite.allocation import Room
from nnapi_shim.formats.tflite.file import DTYPES, File, Graph, Operator, Tensor
from nnapi_shim.hal.enums import FuseCode, OperationType, ResultCode
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.operations import operation as declaration_of
from nnapi_shim.operations.declare import declared

OPERAND_TYPES = {
    "FLOAT32": T.TENSOR_FLOAT32,
    "FLOAT16": T.TENSOR_FLOAT16,
    "INT32": T.TENSOR_INT32,
    "UINT8": T.TENSOR_QUANT8_ASYMM,
    "INT8": T.TENSOR_QUANT8_ASYMM_SIGNED,
    "INT4": T.TENSOR_QUANT8_ASYMM_SIGNED,
    "INT16": T.TENSOR_QUANT16_SYMM,
    "BOOL": T.TENSOR_BOOL8,
}
"""Element type -> type of the operand; NNAPI has no others."""

BYTES = (T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED)
NONE = FuseCode.NONE


def reason(message: str, rule: str) -> NnapiError:
    """Why an operator has no place in a model."""
    return NnapiError(ResultCode.BAD_DATA, message, rule=rule)


class State(NamedTuple):
    """What is carried from run to run. initial: what the first run begins with."""

    input: Operand
    output: Operand
    initial: Array


class Importing:
    """A model under construction: operands by the number of their tensor.

    Each is added when it is first asked for. What lies in front of an operator is there when it is
    lowered, since a file has them in an order in which they can run.
    """

    def __init__(
        self, file: File, graph: Graph, *, room: Room | None = None, is_inner: bool = False
    ) -> None:
        self.file = file
        self.room = room or Room(len(file.data))
        """What may be made for the file."""
        self.graph = graph
        self.is_inner = is_inner
        self.model = Model()
        self.partial: dict[int | None, Array] = {}
        """Numbers of which some are known, by their tensor; the others are -1."""
        self.lower: Callable[[Operator], None] = _no_lowering
        """Adds the operations of an operator."""
        self.nested: list[int] = []
        """Graphs of composites that are being lowered."""
        self.taken: dict[int, Operand] = {}
        """The inputs of the model, by their tensor."""
        self.inner: Callable[[int], Model] = _no_inner
        """The model of another graph of the file, by its number."""
        self.held: dict[int | None, tuple[Operand, tuple[int, ...]]] = {}
        """Tensors of rank above 4: an operand with the same elements, and their dimensions."""
        self.wide: set[int] = set()
        """Tensors of 16 bits whose operands are real numbers: see `wide`."""
        self.with_wide: dict[str, int] = {}
        """How many operators have such tensors, by their names."""
        self.handles: dict[int | None, str] = {}
        """The variable that a tensor stands for."""
        self.variables: dict[str, Operand] = {}
        """Resource variables: what each holds now, by its name."""
        self.first: dict[str, Operand] = {}
        """The input that brings a variable from the run before, by its name."""
        self.initial: dict[str, Array] = {}
        """What a variable begins with, where the file says so."""
        self._operands: dict[int, Operand] = {}
        self._values: dict[int, Array] = {}
        self._reals: dict[int, Operand] = {}
        self._tensors = list(graph.tensors)
        self._given = {*graph.inputs, *(i for o in graph.operators for i in o.outputs)}
        self._inputs: set[int] = set()
        self._outputs: set[int] = set()
        self._states: dict[Operand, State] = {}

    # Tensors

    def tensor(self, index: int | None) -> Tensor:
        """What the file says of a tensor."""
        if index is None:
            raise reason("an input that it needs is left out", "import.tflite.input-omitted")
        return self._tensors[index]

    def add_tensor(self, tensor: Tensor) -> int:
        """A tensor that the file does not have; its number."""
        number = len(self._tensors)
        self._tensors.append(tensor._replace(number=number))
        if tensor.number in self.wide:
            self.wide.add(number)
        self._given.add(number)
        return number

    def value(self, index: int | None) -> Array | None:
        """The contents of a constant, or of what follows from constants and shapes alone."""
        if index is None:
            return None
        found = self._values.get(index)
        tensor = self.tensor(index)
        if found is None and tensor.value is None and self._is_empty(tensor):
            return self.room.empty(tensor.shape, DTYPES.get(tensor.type), str(tensor))
        return tensor.value if found is None else found

    def _is_empty(self, tensor: Tensor) -> bool:
        """Whether it is a constant of no elements, which has no data in the file either."""
        return 0 in tensor.shape and tensor.number not in self._given

    def numbers(self, index: int | None, what: str) -> list[int]:
        """Whole numbers that have to be known. Raises for those that only a run tells."""
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

    def fold(self, index: int, value: Array) -> None:
        """Say what a tensor holds, whatever the inputs of the model are."""
        self._values[index] = value

    def lose(self, operator: Operator) -> None:
        """Go on behind an operator that has no place here, as if it had given its outputs."""
        for index in operator.outputs:
            tensor = self.tensor(index)
            if index not in self._operands and tensor.type in OPERAND_TYPES:
                try:
                    type, scale, zero_point = self.parameters(tensor)
                    made = self.model.add_operand(type, tensor.dimensions, scale, zero_point)
                except NnapiError:
                    continue  # what reads it is told so
                self._operands[index] = made

    def parameters(self, tensor: Tensor) -> tuple[T, float, int]:
        """Type, scale and zero point of the operand of a tensor."""
        require_understood(tensor)
        if tensor.blocks is not None:
            raise reason(
                f"{tensor} has a scale for each block, which NNAPI does not have",
                "import.tflite.block-scales",
            )
        if tensor.type not in OPERAND_TYPES:
            raise reason(
                f"{tensor} is {tensor.type}, which NNAPI does not have", "import.tflite.type"
            )
        type = OPERAND_TYPES[tensor.type]
        if tensor.number in self.wide:
            return T.TENSOR_FLOAT32, 0.0, 0
        if type not in QUANTIZED_RANGE:
            return type, 0.0, 0
        if tensor.is_per_channel:
            raise reason(
                f"{tensor} has a scale per channel, and is no constant",
                "import.tflite.per-channel.not-constant",
            )
        if tensor.scale:
            return type, tensor.scale, tensor.zero_point
        return type, 1.0, 0  # bytes without quantization: NNAPI has no other type for them

    def operand_type(self, index: int) -> tuple[T, float, int]:
        """Type, scale and zero point as an operand has them."""
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
                        "only a run tells the dimensions that it needs",
                        "import.tflite.dynamic-dimensions",
                    )
                if tensor.is_sparse:
                    raise reason(f"{tensor} is sparse", "import.tflite.sparse")
                raise reason(f"nothing gives {tensor} a value", "import.tflite.no-value")
            self.define(tensor.number, self._constant(tensor, value))
        return self._operands[tensor.number]

    def operands(self, indexes: Sequence[int | None]) -> list[Operand]:
        """The operands of several tensors."""
        return [self.operand(index) for index in indexes]

    def optional(self, operator: Operator, at: int) -> Operand | None:
        """The operand of an input that may be left out."""
        index = operator.inputs[at] if at < len(operator.inputs) else None
        return None if index is None else self.operand(index)

    def _constant(self, tensor: Tensor, value: Array) -> Operand:
        if tensor.is_sparse:
            raise reason(f"{tensor} is sparse", "import.tflite.sparse")
        if tensor.blocks is not None:
            raise reason(
                f"{tensor} has a scale for each block, which NNAPI does not have",
                "import.tflite.block-scales",
            )
        if tensor.number in self.wide:
            return self.model.constant(real_values(tensor, value))
        value = value.reshape(value.shape or (1,))  # NNAPI has no tensors of rank 0
        if value.dtype in (np.int64, np.uint32, np.uint64):
            limits = np.iinfo(np.int32)
            if value.size and not limits.min <= value.min() <= value.max() <= limits.max:
                raise reason(
                    f"{tensor} has numbers that 32 bits do not hold", "import.tflite.int64-range"
                )
            return self.model.constant(value.astype(np.int32))
        if tensor.is_per_channel and tensor.type in ("INT8", "INT4"):
            if any(tensor.zero_points):
                raise reason(
                    f"{tensor} has a scale per channel and zero points",
                    "import.tflite.per-channel.zero-points",
                )
            return self.model.constant(value, scales=tensor.scales, channel_dim=tensor.channel_dim)
        if tensor.is_per_channel and tensor.type == "INT32":
            return self.model.constant(value, T.TENSOR_INT32)
        return self.model.constant(value, *self.parameters(tensor))

    def define(self, index: int, operand: Operand) -> None:
        """Let an operand stand for a tensor."""
        self._operands[index] = operand
        name = self.tensor(index).name
        if name and not operand.name:
            self.model.name_operand(operand, name)

    def reals(self, index: int | None) -> Operand:
        """A tensor as TENSOR_FLOAT32: constants are converted here, others by the model."""
        tensor, value = self.tensor(index), self.value(index)
        if tensor.type == "FLOAT32" or value is None:
            return self.real(self.operand(index))
        if tensor.number not in self._reals:
            self.room.take(4 * value.size, f"{tensor} in float32")
            self._reals[tensor.number] = self.model.constant(real_values(tensor, value))
        return self._reals[tensor.number]

    def real(self, operand: Operand) -> Operand:
        """An operand as TENSOR_FLOAT32."""
        if operand.type is T.TENSOR_FLOAT32:
            return operand
        is_cast = operand.type in (T.TENSOR_FLOAT16, T.TENSOR_INT32)
        made: Operand = self.make(
            "CAST" if is_cast else "DEQUANTIZE",
            [operand],
            output=T.TENSOR_FLOAT32,
            dimensions=operand.dimensions,
        )
        return made

    def is_rank_0(self, index: int | None) -> bool:
        """Whether a tensor is a single number in the file, and so of rank 1 in the model."""
        return not self.tensor(index).shape

    # Inputs, outputs, states

    def take(self, index: int) -> None:
        """The next input of the model."""
        tensor = self.tensor(index)
        type, scale, zero_point = self.parameters(tensor)
        is_wide = index in self.wide
        if is_wide:
            type = T.TENSOR_INT32
        operand = self.model.input(type, tensor.dimensions or (1,), scale, zero_point)
        self._inputs.add(operand.index)
        self.taken[index] = operand
        if tensor.name:
            self.model.name_operand(operand, tensor.name)
        if not is_wide:
            self.define(index, operand)

    def alias(self, index: int, source: int | None) -> None:
        """Let a tensor be another one."""
        tensor, other = self.tensor(index), self.tensor(source)
        value = self.value(source)
        parameters = (tensor.type, tensor.scales, tensor.zero_points)
        if parameters != (other.type, other.scales, other.zero_points):
            raise reason(f"{tensor} has another type or scale than {other}", "import.tflite.alias")
        if value is not None:
            self.fold(index, value)
        elif source in self.partial:
            self.partial[index] = self.partial[source]
        elif source in self.held:
            self.held[index] = self.held[source]
        elif source in self.handles:
            self.handles[index] = self.handles[source]
        else:
            self.define(index, self.operand(source))

    def replace(self, index: int, change: Callable[[Operand], Operand]) -> None:
        """Let another operand stand for a tensor, made of the one that does."""
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
        """A new input that brings what `carry` was given in the run before."""
        if self.is_inner:
            raise reason(
                "a graph that another one runs has a state of its own",
                "import.tflite.state.inner-graph",
            )
        shape = tuple(shape) or (1,)
        if 0 in shape:
            raise reason(
                f"only a run tells the dimensions of its state {name!r}",
                "import.tflite.dynamic-dimensions",
            )
        if initial is None:
            what = f"its state {name!r}"
            start = self.room.filled(shape, zero_point, DTYPES_OF[type], what)
        else:
            start = initial
        operand = self.model.input(type, shape, scale, zero_point)
        self._inputs.add(operand.index)
        self.model.name_operand(operand, name)
        self._states[operand] = State(operand, operand, start)
        return operand

    def carry(self, state: Operand, output: Operand) -> None:
        """Say what a state is for the next run."""
        self._states[state] = self._states[state]._replace(output=output)

    def carried_states(self) -> list[State]:
        """All states; what only stays the same or is an input is copied for them."""
        found = []
        for name, operand in self.first.items():
            self.carry(operand, self.variables[name])
        for state in self._states.values():
            output = state.output
            found.append(state._replace(output=self.own_output(output)))
        return found

    def output(self, index: int) -> Operand:
        """The operand of an output: one that an operation writes, and no other output is."""
        return self.own_output(self.operand(index))

    def own_output(self, operand: Operand) -> Operand:
        """An operand, or a copy where it is given, or an output already."""
        if self._is_given(operand) or operand.index in self._outputs:
            operand = self.copy(operand)
        self._outputs.add(operand.index)
        return operand

    def _is_given(self, operand: Operand) -> bool:
        return operand.index in self._inputs or operand.value is not None

    # Operations

    def make(
        self,
        type: str,
        inputs: Sequence["Input | Model"],
        *,
        output: T | None = None,
        dimensions: Sequence[int] = (),
        scale: float | None = None,
        zero_point: int = 0,
        output_count: int | None = None,
    ) -> Any:
        """A new operation, and its output as a new operand (several: a tuple)."""
        known = all(not isinstance(i, Operand) or i.is_known or i.is_omitted for i in inputs)
        return self.model.operation(
            type,
            inputs,
            output=output,
            dimensions=None if known else dimensions,
            scale=scale,
            zero_point=zero_point,
            output_count=output_count,
        )

    def like(self, type: str, inputs: Sequence[Input], tensor: Tensor) -> Operand:
        """A new operation whose output has the type and the parameters of a tensor.

        Where NNAPI has it for real numbers and not for these quantized ones, the inputs are
        dequantized and the result is quantized.
        """
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
                result: Operand = self.make(type, reals, dimensions=tensor.dimensions)
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
        is_quantized = kind in QUANTIZED_RANGE
        result: Operand
        if is_quantized and not _is_free(type):
            result = self.make(type, inputs, dimensions=tensor.dimensions)
            return self.requantized(result, kind, scale, zero_point)
        return self.make(  # type: ignore[no-any-return]
            type,
            inputs,
            output=kind,
            dimensions=tensor.dimensions,
            scale=scale if is_quantized else None,
            zero_point=zero_point,
        )

    def requantized(self, operand: Operand, type: T, scale: float, zero_point: int) -> Operand:
        """An operand with these parameters: itself, or by way of real numbers."""
        same = operand.scale == np.float32(scale) and operand.zero_point == zero_point
        if operand.type is type and (same or type not in QUANTIZED_RANGE):
            return operand
        result: Operand
        real = self.real(operand)
        if type is T.TENSOR_FLOAT32:
            return real
        kind = "CAST" if type not in QUANTIZED_RANGE else "QUANTIZE"
        quantized = kind == "QUANTIZE"
        result = self.make(
            kind,
            [real],
            output=type,
            dimensions=real.dimensions,
            scale=scale if quantized else None,
            zero_point=zero_point,
        )
        return result

    def add(self, type: str, inputs: Sequence[Input], operator: Operator, *, at: int = 0) -> None:
        """A new operation that gives an output of an operator."""
        index = operator.outputs[at]
        self.define(index, self.like(type, inputs, self.tensor(index)))

    def give(self, operator: Operator, operand: Operand, at: int = 0) -> None:
        """Let an operand, requantized where need be, stand for an output of an operator."""
        index = operator.outputs[at]
        self.define(index, self.requantized(operand, *self.parameters(self.tensor(index))))

    def sizes(self, numbers: Iterable[int]) -> Array:
        """Numbers as a constant input of an operation."""
        limits = np.iinfo(np.int32)
        return np.array([min(max(n, limits.min), limits.max) for n in numbers], np.int32)

    def filled(self, shape: Sequence[int], value: float) -> Operand:
        """A tensor of one number, a whole or a real one; the model makes it when it is run."""
        kind = T.TENSOR_FLOAT32 if isinstance(value, float) else T.TENSOR_INT32
        filled: Operand = self.make("FILL", [self.sizes(shape), value], output=kind)
        return filled

    def reshaped(self, operand: Operand, shape: Sequence[int]) -> Operand:
        """The same elements with other dimensions; -1 once for what is left over."""
        shape = tuple(shape) or (1,)
        if operand.dimensions == shape:
            return operand
        if operand.type is T.TENSOR_BOOL8:
            raise reason("NNAPI reshapes no truth values", "import.tflite.bool-reshape")
        sizes = [max(size, 0) for size in shape]
        made: Operand = self.make("RESHAPE", [operand, self.sizes(shape)], dimensions=sizes)
        return made

    def broadcast(self, operand: Operand, shape: Sequence[int]) -> Operand:
        """The same elements, repeated where the dimensions are 1."""
        shape = tuple(shape)
        if operand.dimensions == shape:
            return operand
        if 0 in shape or 0 in operand.dimensions:
            raise reason(
                "only a run tells to which dimensions it is broadcast",
                "import.tflite.dynamic-dimensions",
            )
        result: Operand
        if operand.type is T.TENSOR_BOOL8:
            zeros = self.filled(shape, 0)
            none = self.make("LESS", [zeros, zeros])
            result = self.make("LOGICAL_OR", [operand, none])
            return result
        own = (1,) * (len(shape) - len(operand.dimensions)) + operand.dimensions
        multiples = np.array([a // b for a, b in zip(shape, own, strict=True)], np.int32)
        result = self.make("TILE", [self.reshaped(operand, own), multiples])
        return result

    def copy(self, operand: Operand) -> Operand:
        """A new operand with the same contents."""
        result: Operand
        if operand.type is T.TENSOR_BOOL8:
            result = self.make("LOGICAL_OR", [operand, operand])
        elif operand.type is T.TENSOR_QUANT16_SYMM:
            result = self.make("CAST", [operand])
        elif operand.is_known:
            shape = np.array(operand.dimensions, np.int32)
            result = self.make("RESHAPE", [operand, shape])
        else:
            zero = np.array([0], np.int32)
            if operand.type is not T.TENSOR_INT32:
                raise reason(
                    "an input is also an output, and only a run tells its dimensions",
                    "import.tflite.dynamic-dimensions",
                )
            result = self.make("ADD", [operand, zero, NONE])
        return result


def _no_lowering(operator: Operator) -> None:
    raise reason("nothing lowers it here", "import.tflite.operator-unknown")


def _no_inner(number: int) -> Model:
    raise reason(f"graph {number} is not at hand", "import.tflite.inner-graph-missing")


def _is_free(type: str) -> bool:
    """Whether the outputs of an operation may have any scale and zero point."""
    return declaration_of(OperationType[type]).quantization is declared


def require_understood(tensor: Tensor) -> None:
    """Refuse a tensor of which the file says what this version does not understand."""
    if tensor.unread:
        raise reason(f"{tensor}: {tensor.unread}", "import.tflite.tensor.unread")


def real_values(tensor: Tensor, value: Array) -> Array:
    """The real numbers that a constant stands for, as float32."""
    value = value.reshape(value.shape or (1,))
    if tensor.blocks is not None:
        scales, points, size = tensor.blocks
        parts = value.reshape(*scales.shape, size).astype(np.float32)
        if points is not None:
            parts -= points[..., np.newaxis]
        return (parts * scales[..., np.newaxis]).reshape(value.shape)
    if not tensor.scales:
        return value.astype(np.float32)
    shape = [1] * value.ndim
    if tensor.is_per_channel:
        shape[tensor.channel_dim] = len(tensor.scales)
    factors = np.array(tensor.scales, np.float32).reshape(shape)
    zero_points = np.array(tensor.zero_points, np.float32).reshape(shape)
    return (value.astype(np.float32) - zero_points) * factors
