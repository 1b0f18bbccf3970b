"""An engine for tests: its networks call a function of arrays, whatever the model is."""

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nnapi_shim import address
from nnapi_shim.drivers.adoption import adopted
from nnapi_shim.drivers.engines.device import EngineDevice
from nnapi_shim.drivers.engines.engine import Buffer, File, Target, Wishes
from nnapi_shim.hal.enums import DeviceType, OperandType
from nnapi_shim.hal.quantization import STRUCT_CODES
from nnapi_shim.hal.types import Dimensions, PerformanceInfo, element_count

TARGET = Target("fake-cpu", "CPU", DeviceType.CPU, "1", PerformanceInfo(1.0, 1.0))


class Engine:
    """As engine.Engine; it remembers what it was asked for."""

    format = ".onnx"
    takes_external = False

    def __init__(self, function: Callable[..., Sequence[Any]]) -> None:
        self.function = function
        self.declines: Callable[[Any], str] = lambda node: ""
        self.files: list[File] = []
        self.wishes: list[Wishes] = []
        self.runs: list[Run] = []
        self.stopped = threading.Event()

    def targets(self) -> list[Target]:
        return [TARGET]

    def declined(self, target: Target, node: Any) -> str:
        return self.declines(node)

    def compiled(self, target: Target, file: File, wishes: Wishes) -> "Network":
        assert file.content
        self.files.append(file)
        self.wishes.append(wishes)
        return Network(self)

    def device(self) -> Any:
        """The device of this engine as a program gets it."""
        return adopted(EngineDevice(self, TARGET), TARGET.name)


class Memory:
    """As engine.Memory; it counts what passes between it and the process."""

    def __init__(self, engine: "AllocatingEngine", shape: Dimensions, dtype: Any) -> None:
        self.engine, self.array = engine, np.full(shape, 99, dtype)

    def _at(self, start: int, size: int) -> Any:
        self.engine.transfers += 1
        assert size == self.array.nbytes
        return np.frombuffer(address.view(start, size), self.array.dtype).reshape(self.array.shape)

    def read(self, to: int, size: int) -> None:
        self._at(to, size)[...] = self.array

    def write(self, start: int, size: int) -> None:
        self.array[...] = self._at(start, size)


class AllocatingEngine(Engine):
    """With memory that is not the program's; `refuses` is raised in its place."""

    def __init__(self, function: Callable[..., Sequence[Any]]) -> None:
        super().__init__(function)
        self.transfers = 0
        """Tensors that passed between the process and the device."""
        self.refuses: Exception | None = None
        self.memories: list[weakref.ref[Memory]] = []

    def allocated(self, target: Target, type: OperandType, dimensions: Dimensions) -> Memory:
        if self.refuses is not None:
            raise self.refuses
        made = Memory(self, dimensions, np.dtype(STRUCT_CODES[type]))
        self.memories.append(weakref.ref(made))
        return made


class Network:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def bound(self, inputs: Sequence[Buffer], outputs: Sequence[Buffer | None]) -> "Run":
        run = Run(self.engine, inputs, outputs)
        self.engine.runs.append(run)
        return run


class Run:
    def __init__(
        self, engine: Engine, inputs: Sequence[Buffer], outputs: Sequence[Buffer | None]
    ) -> None:
        self.engine, self.outputs = engine, outputs
        self.inputs = [array(each) for each in inputs]
        self.results: Sequence[Any] = ()
        self.of_the_process = [each for each in (*inputs, *outputs) if not (each and each.memory)]

    def compute(self) -> None:
        if isinstance(self.engine, AllocatingEngine):
            self.engine.transfers += len(self.of_the_process)
        self.results = self.engine.function(*self.inputs)
        for to, result in zip(self.outputs, self.results, strict=True):
            if to is not None:
                array(to)[...] = result

    def stop(self) -> None:
        self.engine.stopped.set()

    def output(self, number: int) -> Any:
        return self.results[number]


def array(buffer: Buffer) -> Any:
    """The memory of a buffer as an array."""
    if buffer.memory is not None:
        assert isinstance(buffer.memory, Memory) and not buffer.address
        assert buffer.memory.array.shape == buffer.dimensions
        return buffer.memory.array
    dtype = np.dtype(STRUCT_CODES[buffer.type])
    size = element_count(buffer.dimensions) * dtype.itemsize
    data = address.view(buffer.address, size) if size else b""
    return np.frombuffer(data, dtype).reshape(buffer.dimensions)
