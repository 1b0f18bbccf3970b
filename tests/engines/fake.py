"""An engine for tests: its networks call a function of arrays, whatever the model is."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nnapi_shim import address
from nnapi_shim.drivers.adoption import adopted
from nnapi_shim.drivers.engines.device import EngineDevice
from nnapi_shim.drivers.engines.engine import Buffer, Target, Wishes
from nnapi_shim.hal.enums import DeviceType
from nnapi_shim.hal.quantization import STRUCT_CODES
from nnapi_shim.hal.types import PerformanceInfo, element_count

TARGET = Target("fake-cpu", "CPU", DeviceType.CPU, "1", PerformanceInfo(1.0, 1.0))


class Engine:
    """As engine.Engine; it remembers what it was asked for."""

    def __init__(self, function: Callable[..., Sequence[Any]]) -> None:
        self.function = function
        self.declines: Callable[[Any], str] = lambda node: ""
        self.names: list[tuple[list[str], list[str]]] = []
        self.wishes: list[Wishes] = []
        self.runs: list[Run] = []
        self.stopped = threading.Event()

    def targets(self) -> list[Target]:
        return [TARGET]

    def declined(self, target: Target, node: Any) -> str:
        return self.declines(node)

    def compiled(
        self,
        target: Target,
        content: bytes,
        inputs: Sequence[str],
        outputs: Sequence[str],
        wishes: Wishes,
    ) -> "Network":
        assert content
        self.names.append(([*inputs], [*outputs]))
        self.wishes.append(wishes)
        return Network(self)

    def device(self) -> Any:
        """The device of this engine as a program gets it."""
        return adopted(EngineDevice(self, TARGET), TARGET.name)


class Network:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def bound(self, inputs: Sequence[Buffer], outputs: Sequence[Buffer | None]) -> "Run":
        run = Run(self.engine, [array(each) for each in inputs], outputs)
        self.engine.runs.append(run)
        return run


class Run:
    def __init__(
        self, engine: Engine, inputs: Sequence[Any], outputs: Sequence[Buffer | None]
    ) -> None:
        self.engine, self.inputs, self.outputs = engine, inputs, outputs
        self.results: Sequence[Any] = ()

    def compute(self) -> None:
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
    dtype = np.dtype(STRUCT_CODES[buffer.type])
    size = element_count(buffer.dimensions) * dtype.itemsize
    data = address.view(buffer.address, size) if size else b""
    return np.frombuffer(data, dtype).reshape(buffer.dimensions)
