"""Small models in the form of the HAL, and running what a device made of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.hal.enums import OperandLifeTime as L
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.quantization import STRUCT_CODES
from nnapi_shim.hal.types import (
    DataLocation,
    ExecutionResult,
    Model,
    Operand,
    Operation,
    Request,
    RequestArgument,
    Subgraph,
    element_count,
)

LOOP_TIMEOUT_NS = 10**10


class Builder:
    """Operands and operations; calls that add something give the index of the operand."""

    def __init__(self) -> None:
        self.operands: list[Operand] = []
        self.operations: list[Operation] = []
        self.values = bytearray()
        self.referenced: list[Subgraph] = []

    def operand(self, type: T, dimensions: Sequence[int] = (), **others: Any) -> int:
        self.operands.append(Operand(type, tuple(dimensions), **others))
        return len(self.operands) - 1

    def input(self, dimensions: Sequence[int] = (2,), type: T = T.TENSOR_FLOAT32, **kw: Any) -> int:
        return self.operand(type, dimensions, lifetime=L.SUBGRAPH_INPUT, **kw)

    def temporary(
        self, dimensions: Sequence[int] = (2,), type: T = T.TENSOR_FLOAT32, **others: Any
    ) -> int:
        return self.operand(type, dimensions, **others)

    def constant(self, values: Any, type: T, **others: Any) -> int:
        array = np.array(values, STRUCT_CODES[type])
        self.values += bytes(-len(self.values) % 64)
        position = DataLocation(0, len(self.values), array.nbytes)
        self.values += array.tobytes()
        return self.operand(
            type, array.shape, lifetime=L.CONSTANT_COPY, location=position, **others
        )

    def graph(self, other: "Builder", inputs: Sequence[int], outputs: Sequence[int]) -> int:
        """An operand that refers to what another builder, without constants, has built."""
        self.referenced.append(other.model(inputs, outputs).main)
        position = DataLocation(offset=len(self.referenced) - 1)
        return self.operand(T.MODEL, lifetime=L.SUBGRAPH, location=position)

    def operation(
        self, type: OperationType, inputs: Sequence[int], outputs: Sequence[int]
    ) -> Sequence[int]:
        number = len(self.operations)
        self.operations.append(Operation(type, tuple(inputs), tuple(outputs), number))
        return outputs

    def binary(self, name: str, one: int, other: int, result: int | None = None) -> int:
        """ADD, MUL or the like without activation, of tensors with the dimensions of `one`."""
        if result is None:
            result = self.temporary(self.operands[one].dimensions, self.operands[one].type)
        none = self.constant(0, T.INT32)
        self.operation(OperationType[name], [one, other, none], [result])
        return result

    def model(self, inputs: Sequence[int], outputs: Sequence[int], **others: Any) -> Model:
        operands = [
            operand._replace(lifetime=L.SUBGRAPH_OUTPUT) if index in outputs else operand
            for index, operand in enumerate(self.operands)
        ]
        main = Subgraph(tuple(operands), tuple(self.operations), tuple(inputs), tuple(outputs))
        return Model(main, tuple(self.referenced), bytes(self.values), **others)


def chain(names: str, dimensions: Sequence[int] = (2,)) -> Model:
    """One input, one output: x = x + x, x * x and so on, as the names say."""
    builder = Builder()
    first = value = builder.input(dimensions)
    for name in names.split():
        value = builder.binary(name, value, value)
    return builder.model([first], [value])


class Bound:
    """A request for a prepared model: numpy arrays as inputs, buffers of `room` bytes as outputs.

    None omits an input.
    """

    def __init__(
        self,
        prepared: Any,
        model: Model,
        inputs: Sequence[Any],
        room: Sequence[int] | int = 1024,
        measure: bool = False,
        loop_timeout_ns: int = LOOP_TIMEOUT_NS,
    ) -> None:
        main = model.main
        self.operands = [main.operands[index] for index in main.output_indexes]
        self.inputs = inputs
        rooms = [room] * len(self.operands) if isinstance(room, int) else room
        self.buffers = [np.full(length, 0xA5, np.uint8) for length in rooms]
        request = Request(
            tuple(
                RequestArgument(0, 0, (), True)
                if array is None
                else RequestArgument(array.ctypes.data, array.nbytes, array.shape)
                for array in inputs
            ),
            tuple(
                RequestArgument(buffer.ctypes.data, buffer.nbytes, operand.dimensions)
                for buffer, operand in zip(self.buffers, self.operands, strict=True)
            ),
        )
        self.execution = prepared.createReusableExecution(request, measure, loop_timeout_ns)

    def compute(self, deadline_ns: int | None = None) -> ExecutionResult:
        return self.execution.compute(deadline_ns)

    def outputs(self) -> list[Any]:
        """What a run that has to succeed computes."""
        result = self.compute()
        assert result.status == 0
        return [
            buffer[: element_count(shape.dimensions) * np.dtype(code).itemsize]
            .view(code)
            .reshape(shape.dimensions)
            .copy()
            for buffer, shape, code in zip(
                self.buffers,
                result.output_shapes,
                [STRUCT_CODES[operand.type] for operand in self.operands],
                strict=True,
            )
        ]


def f32(*values: float) -> Any:
    return np.array(values, np.float32)
