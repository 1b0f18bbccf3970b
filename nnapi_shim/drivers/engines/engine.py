"""What an engine offers: devices, compiled networks, and runs bound to memory."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from nnapi_shim.hal.enums import DeviceType, ExecutionPreference, OperandType, Priority
from nnapi_shim.hal.types import CacheHandles, Dimensions, PerformanceInfo

PERFORMANCE = {
    DeviceType.CPU: PerformanceInfo(1.0, 1.0),
    DeviceType.GPU: PerformanceInfo(0.3, 1.0),
    DeviceType.ACCELERATOR: PerformanceInfo(0.5, 0.3),
}
"""Type of a device -> assumed time and power relative to nnapi-cpu."""

QUANTIZED_ON_PROCESSORS = PerformanceInfo(1.7, 1.7)
"""The same for quantized types of engines on processors (docs/performance.md): without it, models
that nnapi-cpu computes in less time would go to them, being listed first.
"""


class Target(NamedTuple):
    """A device of an engine.

    name: as programs see it, such as "onnxruntime-cpu". place: the engine's own name for it.
    version: of the engine, and what kind of GPU or NPU it is. performance: assumed time and power
    relative to nnapi-cpu.
    """

    name: str
    place: str
    type: DeviceType
    version: str
    performance: PerformanceInfo


class Wishes(NamedTuple):
    """What a program wishes of a compilation; an engine follows what it has a hint for.

    is_relaxed: whether float32 may be computed with the precision of float16. threads: the most
    threads, 0 for the engine's own choice. cache: where the compiled model may be kept, or None.
    end_ns: the time on the monotonic clock after which nobody waits for it any more, or None.
    """

    preference: ExecutionPreference
    priority: Priority
    is_relaxed: bool
    threads: int
    cache: CacheHandles | None = None
    end_ns: int | None = None


class File(NamedTuple):
    """A model in the format of an engine.

    inputs, outputs: their names, in order. external: arrays of constants, by the names of files in
    the model; none but for engines that take them.
    """

    content: bytes
    inputs: Sequence[str]
    outputs: Sequence[str]
    external: Mapping[str, Any] = {}


class Memory(Protocol):
    """Memory of a device with the elements of a tensor. Networks of that device alone use it."""

    def read(self, to: int, size: int) -> None:
        """Copy all `size` bytes to memory of the process at an address."""

    def write(self, start: int, size: int) -> None:
        """Copy all `size` bytes from there."""


class Buffer(NamedTuple):
    """The elements of an argument, all dimensions of which are known: in memory of the program, or
    in `memory` of the device.
    """

    type: OperandType
    dimensions: Dimensions
    address: int
    memory: Memory | None = None


class Run(Protocol):
    """A network bound to arguments; one thread at a time computes it."""

    def compute(self) -> None:
        """Compute on the calling thread until the outputs are there."""

    def stop(self) -> None:
        """Make a compute under way on another thread end soon, if the engine can."""

    def output(self, number: int) -> Any:
        """The array of an output without a buffer, after compute."""


class Network(Protocol):
    """A compiled model. Thread-safe."""

    def bound(self, inputs: Sequence[Buffer], outputs: Sequence[Buffer | None]) -> Run:
        """A run on these arguments; the engine keeps an output without a buffer in its memory."""


class OpenNetwork(Network, Protocol):
    """A network with unknown dimensions, which one of known dimensions computes sooner; others lack
    the method.
    """

    def settled(self, inputs: Sequence[Dimensions]) -> Network:
        """Compile the same model for these dimensions of its inputs, all of which are known."""


class Engine(Protocol):
    """An engine; the classes of its module are made after its package has been imported.

    format: suffix of the files that it reads, ".onnx" or ".tflite". takes_external: whether it
    takes constants of more than 2 GB, which are not in a file.
    """

    format: str
    takes_external: bool

    def targets(self) -> list[Target]:
        """The devices that the installed package reports."""

    def declined(self, target: Target, node: Any) -> str:
        """Why the target does not compute a node (formats/graph/tensor.py), or ""."""

    def compiled(self, target: Target, file: File, wishes: Wishes) -> Network:
        """Compile a model."""


class AllocatingEngine(Engine, Protocol):
    """An engine with memory of devices; other engines lack the method."""

    def allocated(self, target: Target, type: OperandType, dimensions: Dimensions) -> Memory | None:
        """Memory for a tensor with at least one element; None if the target has none to give."""


class TogetherEngine(Engine, Protocol):
    """An engine that compiles several models in less time than one after another; other engines
    lack the method.
    """

    def compiled_together(self, target: Target, files: Sequence[File], wishes: Wishes) -> None:
        """Compile models that are kept in wishes.cache, for later calls of `compiled`."""
