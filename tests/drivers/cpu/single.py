"""One operation on a device as a model uses it: filters are constants, the rest are arguments.

The values come from the constructors of tests/single.py. Unlike `execute` there, this keeps the
execution, for repeated runs on memory at any alignment with guard bytes around.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.hal.enums import (
    ErrorStatus,
    ExecutionPreference,
    OperandLifeTime,
    OperationType,
    Priority,
)
from nnapi_shim.hal.quantization import STRUCT_CODES
from nnapi_shim.hal.types import (
    DataLocation,
    Model,
    Operation,
    Request,
    RequestArgument,
    Subgraph,
)
from tests.single import Value, valued

GUARD = 256
"""Bytes in front of and behind every argument that must stay as they are."""


class Argument:
    """Memory of an input or output: `misaligned` bytes off a 64-byte boundary, guarded."""

    def __init__(self, shape: Sequence[int], code: str, misaligned: int = 0) -> None:
        length = int(np.prod(shape)) * np.dtype(code).itemsize
        self.whole = np.full(length + 2 * GUARD + 64, 0xA5, np.uint8)
        start = GUARD + misaligned - (self.whole.ctypes.data + GUARD) % 64 + 64
        start -= 64 if start >= GUARD + 64 else 0
        self.start, self.length = start, length
        self.address = self.whole.ctypes.data + start
        self.shape, self.code = tuple(shape), code

    @property
    def values(self) -> Any:
        """A copy of what it holds."""
        inside = self.whole[self.start : self.start + self.length]
        return np.frombuffer(inside.tobytes(), self.code).reshape(self.shape)

    def fill(self, array: Any) -> None:
        """Store an array."""
        inside = self.whole[self.start : self.start + self.length]
        inside[:] = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)

    def is_guarded(self) -> bool:
        """Whether the bytes around it are untouched."""
        before, after = self.whole[: self.start], self.whole[self.start + self.length :]
        return bool((before == 0xA5).all() and (after == 0xA5).all())


class Single:
    """An operation prepared on a device. `inputs[0]`, and those at the positions `dynamic`, are
    model inputs; everything else is constant.
    """

    def __init__(
        self,
        device: Any,
        type: OperationType,
        inputs: Sequence[Any],
        output: Value,
        shape: Sequence[int],
        dynamic: Sequence[int] = (),
        misaligned: int = 0,
    ) -> None:
        operands, data, sources = [], bytearray(), []
        self.arguments = []
        for position, given in enumerate(map(valued, inputs)):
            operand, array = given.operand, given.array
            if position == 0 or position in dynamic:
                argument = Argument(array.shape, array.dtype.char, misaligned)
                argument.fill(array)
                self.arguments.append(argument)
                sources.append(position)
                operands.append(operand._replace(lifetime=OperandLifeTime.SUBGRAPH_INPUT))
                continue
            data.extend(bytes(-len(data) % 64))
            place = DataLocation(0, len(data), array.nbytes)
            data.extend(array.tobytes())
            lifetime = OperandLifeTime.CONSTANT_COPY
            operands.append(operand._replace(lifetime=lifetime, location=place))
        code = STRUCT_CODES[output.operand.type]
        self.result = Argument(shape, code, misaligned)
        last = len(operands)
        lifetime = OperandLifeTime.SUBGRAPH_OUTPUT
        operands.append(output.operand._replace(dimensions=tuple(shape), lifetime=lifetime))
        graph = Subgraph(
            tuple(operands),
            (Operation(type, tuple(range(last)), (last,)),),
            tuple(sources),
            (last,),
        )
        self.prepared = device.prepareModel(
            Model(graph, operand_values=bytes(data)),
            ExecutionPreference.FAST_SINGLE_ANSWER,
            Priority.MEDIUM,
            None,
            None,
        )
        request = Request(
            tuple(RequestArgument(a.address, a.length, a.shape) for a in self.arguments),
            (RequestArgument(self.result.address, self.result.length, self.result.shape),),
        )
        self.execution = self.prepared.createReusableExecution(request, False, 0)

    def run(self) -> None:
        """Compute once."""
        assert self.execution.compute(None).status is ErrorStatus.NONE

    def checked(self) -> Any:
        """The output of two runs that agree and leave everything else alone."""
        before = [argument.values for argument in self.arguments]
        self.run()
        first = self.result.values
        self.result.fill(np.full(self.result.length, 0xA5, np.uint8))
        self.run()
        np.testing.assert_array_equal(first, self.result.values)
        assert self.result.is_guarded(), "written outside of the output"
        for argument, values in zip(self.arguments, before, strict=True):
            np.testing.assert_array_equal(argument.values, values)
        return first
