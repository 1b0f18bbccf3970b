"""One operation, again and again, while its inputs are written to."""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import (
    ErrorStatus,
    ExecutionPreference,
    OperandLifeTime,
    OperandType,
    Priority,
    ResultCode,
)
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hal.types import (
    DataLocation,
    Model,
    Operation,
    Pool,
    Request,
    RequestArgument,
    Subgraph,
    element_count,
)
from tests.drivers.cpu.guard_pages import Guarded
from tests.operations.cases import Example
from tests.races.writer import MARKER, Marked, Memory, Race, Writer

L, T = OperandLifeTime, OperandType

OUTPUT_BYTES = 1 << 16
ALLOWED = frozenset((ResultCode.OP_FAILED, ResultCode.BAD_DATA))
"""How an execution may fail that met contents out of range."""

WILD_FLOATS = (np.nan, np.inf, -np.inf, 1e30, -1e30, -1.0, 3e9, 0.0, 1e-30)


POSITIONS = {"ARGMAX": 0, "ARGMIN": 0, "TOPK_V2": 1}
"""Operations with an output of positions in their input, whatever that holds; which output it is.
"""


class Broken(Exception):  # noqa: N818 (what a test finds)
    """A device broke the promise."""


def wild(value: Any, is_value: bool, rng: np.random.Generator) -> bytes:
    """Contents of the size of an operand that make as little sense as its type allows.

    is_value: sizes are made of it, so that large numbers would ask for much memory.
    """
    array, type = value.array, value.operand.type
    if type in (T.TENSOR_INT32, T.INT32) and is_value:
        near, far = rng.integers(-4, 12, array.shape), rng.choice([-(2**31), -1], array.shape)
        actual = np.where(rng.random(array.shape) < 0.8, near, far)
    elif type == T.TENSOR_INT32:
        near = rng.integers(-40, 2000, array.shape)
        far = rng.choice([-(2**31), -1, 2**31 - 1, 10**6, -(10**6)], array.shape)
        actual = np.where(rng.random(array.shape) < 0.6, near, far)
    elif array.dtype.kind == "f":
        actual = rng.choice(WILD_FLOATS, array.shape)
    else:
        actual = rng.integers(0, 256, array.nbytes, np.uint8).view(array.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return bytes(actual.astype(array.dtype).tobytes())


class Case:
    """An operation prepared on a device; its tensors are inputs, or constants in shared memory.

    kind: Guarded memory, which ends the process if it is left, or Marked memory.
    """

    def __init__(
        self,
        device: Any,
        sample: Example,
        kind: type[Memory],
        rng: np.random.Generator,
        constants: bool = False,
    ) -> None:
        self.name = f"{sample.use} on {device.name}"
        self.races: list[Race] = []
        self._kind = kind
        name = sample.use.operation.type.name
        self._positions = POSITIONS.get(name)
        self._most = max(sample.inputs[0].array.shape, default=0)
        operands, inputs, pools = [], [], []
        values = sample.op.match.value_positions
        for position, value in enumerate(sample.inputs):
            if value.is_omitted:
                operands.append(value.operand._replace(lifetime=L.NO_VALUE))
                continue
            data = value.array.tobytes()
            memory = Guarded(data, at_end=True) if kind is Guarded else Marked(data)
            self.races.append(Race(memory, data, wild(value, position in values, rng)))
            if constants:
                place = DataLocation(len(pools), 0, memory.size)
                pools.append(_Mapped(memory))
                operands.append(
                    value.operand._replace(lifetime=L.CONSTANT_REFERENCE, location=place)
                )
            else:
                inputs.append((len(operands), memory, value.array.shape))
                operands.append(value.operand._replace(lifetime=L.SUBGRAPH_INPUT))
        count = len(operands)
        operands += [o.operand._replace(lifetime=L.SUBGRAPH_OUTPUT) for o in sample.outputs]
        outputs = tuple(range(count, len(operands)))
        item = Operation(sample.use.operation.type, tuple(range(count)), outputs)
        main = Subgraph(tuple(operands), (item,), tuple(index for index, _, _ in inputs), outputs)
        self._kept = pools
        self._types = [operands[index].type for index in outputs]
        self._prepared = device.prepareModel(
            Model(main, pools=tuple(pools)),
            ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None,
        )  # fmt: skip
        self._outputs = [np.zeros(OUTPUT_BYTES, np.uint8) for _ in outputs]
        self._request = Request(
            tuple(RequestArgument(m.address, m.size, shape) for _, m, shape in inputs),
            tuple(RequestArgument(o.ctypes.data, o.nbytes, ()) for o in self._outputs),
        )

    def run(self, writer: Writer, seconds: float, outcomes: Counter[str]) -> None:
        """Execute until the time is over; raises Broken."""
        end = time.monotonic() + seconds
        with writer.racing(self.races):
            execution = self._prepared.createReusableExecution(self._request, False, 10**9)
            while time.monotonic() < end:
                outcomes[self._once(execution)] += 1

    def _once(self, execution: Any) -> str:
        try:
            result = execution.compute(time.monotonic_ns() + 10**10)
        except NnapiError as error:
            if error.code not in ALLOWED:
                raise Broken(f"{self.name}: {error}") from error
            return error.code.name
        except Exception as error:
            raise Broken(f"{self.name}: unexpected {error!r}") from error
        if result.status is not ErrorStatus.NONE:
            return str(result.status.name)
        if self._kind is Marked:
            self._look_for_marks(result.output_shapes)
        if self._positions is not None:
            self._look_at_positions(self._positions, result.output_shapes)
        return "computed"

    def _look_at_positions(self, output: int, shapes: Sequence[Any]) -> None:
        count = element_count(shapes[output].dimensions)
        actual = self._outputs[output][: 4 * count].view("<i4")
        if ((actual < 0) | (actual >= self._most)).any():
            raise Broken(f"{self.name}: there is no position {actual.max()}")

    def _look_for_marks(self, shapes: Sequence[Any]) -> None:
        for output, type, shape in zip(self._outputs, self._types, shapes, strict=True):
            size = ELEMENT_BYTES[type]
            length = size * element_count(shape.dimensions)
            if size == 4 and (output[: length // 4 * 4].view("<u4") == MARKER * 0x01010101).any():
                raise Broken(f"{self.name}: an output contains memory from beside an input")


class _Mapped(Pool):
    """Memory as a pool of a model."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.size = memory.size

    def map(self) -> int:
        """Address of the first byte."""
        return self._memory.address
