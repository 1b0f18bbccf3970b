"""LiteRT: devices for the processor, and for a GPU and an NPU where LiteRT computes with them.

Its calls keep Python's lock, and its library writes to stderr. So its devices always are in a
process of their own (`PACKAGES`), where both disturb nobody.
"""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib import metadata
from threading import Lock
from typing import Any

import numpy as np
from ai_edge_litert import _pywrap_litert_tensor_buffer_wrapper as wrapper
from ai_edge_litert import compiled_model as litert
from ai_edge_litert.tensor_buffer import TensorBuffer

from nnapi_shim import address, log
from nnapi_shim.drivers.engines.declined import why_declined
from nnapi_shim.drivers.engines.declined_by_litert import DECLINED
from nnapi_shim.drivers.engines.engine import PERFORMANCE, Buffer, File, Target, Wishes
from nnapi_shim.drivers.engines.litert_probe import DIMENSIONS, answer, probed, small_model
from nnapi_shim.drivers.engines.quiet import quiet
from nnapi_shim.errors import NnapiError, last_line, op_failed
from nnapi_shim.hal.enums import DeviceType, ExecutionPreference, OperandType, Priority
from nnapi_shim.hal.quantization import ELEMENT_BYTES, SCALARS
from nnapi_shim.hal.types import Dimensions, PerformanceInfo, element_count

_IN_A_PROCESS = PerformanceInfo(1.7, 1.7)
"""For the processor: copies, and a process that computes one thing at a time, are worth it where a
program or a calibration says so.
"""

_ACCELERATORS = {"GPU": DeviceType.GPU, "NPU": DeviceType.ACCELERATOR}

_MOST_DIMENSIONS = 8
_BOOLS = (OperandType.BOOL, OperandType.TENSOR_BOOL8)

_HOST_MEMORY = 1
"""LiteRtTensorBufferType of memory that the program can read."""
_ALIGNMENT = 64
"""Of the memory of the program that LiteRT writes to."""
_environments: list[Any] = []
"""One for the process."""

_BYTES = "uint8"
"""Data are handed over as bytes, which are of any type."""

_CAUSE = "\N{BOX DRAWINGS LIGHT UP AND RIGHT} "
"""What lines begin with that say more about the line before."""
_WHERE = re.compile(rf"^({_CAUSE}|ERROR: |\[[\w./]+:\d+\] ?)+")
"""Where LiteRT's sources say so."""


class Engine:
    """As engine.Engine."""

    format = ".tflite"
    takes_external = False

    def __init__(self) -> None:
        self._version = metadata.version("ai-edge-litert")

    def targets(self) -> list[Target]:
        """litert-cpu, and litert-gpu and litert-npu if a small model was computed there."""
        version = self._version
        targets = [Target("litert-cpu", "CPU", DeviceType.CPU, version, _IN_A_PROCESS)]
        with ThreadPoolExecutor() as threads:
            probe = partial(probed, content=small_model(), module=__name__)
            reasons = [*threads.map(probe, _ACCELERATORS)]
        for (place, type), why in zip(_ACCELERATORS.items(), reasons, strict=True):
            if why:
                log.warning_once(("litert", place), f"litert: there is no {place}: {why}")
            else:
                name = f"litert-{place.lower()}"
                targets.append(Target(name, place, type, version, PERFORMANCE[type]))
        return targets

    def declined(self, target: Target, node: Any) -> str:
        """A row of DECLINED, or what holds for all operations."""
        if all(tensor.value is not None for tensor in node.tensors):
            return "LiteRT does not write a result that it knows before a run"
        if any(tensor.rank > _MOST_DIMENSIONS for tensor in (*node.tensors, *node.outputs)):
            return f"LiteRT has tensors of at most {_MOST_DIMENSIONS} dimensions"
        if any(_has_no_rank(tensor) for tensor in node.tensors):
            return "the rank of an operand is not known, and LiteRT needs it"
        return why_declined(DECLINED, target.name, node)

    def compiled(self, target: Target, file: File, wishes: Wishes) -> "Network":
        """A model compiled for the accelerator alone: with the processor beside it, LiteRT would
        compute there what the accelerator does not, and call that accelerated.
        """
        options = litert.Options(
            litert.HardwareAccelerator[target.place],
            cpu_options=litert.CpuOptions(num_threads=wishes.threads),
            gpu_options=litert.GpuOptions(enforce_f32=not wishes.is_relaxed),
        )
        with quiet() as told:
            try:
                if not _environments:
                    _environments.append(litert.Environment.create())
                model = litert.CompiledModel.from_buffer(
                    file.content, options=options, environment=_environments[0]
                )
            except RuntimeError as error:
                raise op_failed(
                    f"LiteRT does not compile the model: {_why(error, told(), target.place)}",
                    "engine.litert.model",
                ) from None
        return Network(model, len(file.outputs))


def _has_no_rank(tensor: Any) -> bool:
    return tensor.value is None and not tensor.dimensions and tensor.type not in SCALARS


def _why(error: RuntimeError, told: str, place: str = "") -> str:
    """The last error in the log of LiteRT; else the last line of what it raised. For an NPU also
    what its log says of libraries.
    """
    lines = [line.strip() for line in told.splitlines()]
    errors = [line for line in lines if line.startswith("ERROR: ")]
    if not errors and place == "NPU":
        errors = [line for line in lines if line.startswith(_CAUSE)]
    text = errors[-1] if errors else last_line(error)
    return _WHERE.sub("", text).rstrip(".")


class Network:
    """As engine.Network: a CompiledModel, which computes one thing at a time, with the dimensions
    of the last run.
    """

    def __init__(self, model: Any, outputs: int) -> None:
        self.model = model
        self.lock = Lock()
        self._dimensions: list[Dimensions] | None = None
        (self._signature,) = model.get_signature_list()
        self.is_in_place = [
            _HOST_MEMORY in model.get_output_buffer_requirements(at)["supported_types"]
            for at in range(outputs)
        ]
        """Whether LiteRT can write an output to memory of the program."""

    def bound(self, inputs: Sequence[Buffer], outputs: Sequence[Buffer | None]) -> "Run":
        """As engine.Network."""
        return Run(self, inputs, outputs)

    def resize(self, inputs: Sequence[Buffer]) -> None:
        """Take these dimensions of the inputs."""
        dimensions = [each.dimensions for each in inputs]
        if self._dimensions == dimensions:
            return
        self._dimensions = None
        details = self.model.get_input_tensor_details(self._signature).values()
        for at, (wanted, known) in enumerate(zip(dimensions, details, strict=True)):
            if [*wanted] != [*known["shape"]]:
                self.model.resize_input_tensor(at, wanted)
        self._dimensions = dimensions

    def empty(self, number: int) -> Any:
        """An array for an output of the last run."""
        details = self.model.get_output_tensor_details(self._signature)
        detail = [*details.values()][number]
        return np.empty(detail["shape"], detail["dtype"])


@contextmanager
def _refusals() -> Iterator[None]:
    """What LiteRT raises and writes in a run, as one error."""
    with quiet() as told:
        try:
            yield
        except RuntimeError as error:
            raise op_failed(
                f"LiteRT does not compute the model: {_why(error, told())}", "engine.litert.run"
            ) from None


class Run:
    """As engine.Run. Inputs are copied to memory of LiteRT; outputs are written to that of the
    program where it is aligned, and else copied.
    """

    def __init__(
        self, network: Network, inputs: Sequence[Buffer], outputs: Sequence[Buffer | None]
    ) -> None:
        self._network = network
        self._inputs = inputs
        self._given = [_view(each) for each in inputs]
        self._wanted = [None if each is None else _view(each) for each in outputs]
        with network.lock, _refusals():
            network.resize(inputs)
            self._sources = network.model.create_input_buffers(0)
            self._results = network.model.create_output_buffers(0)
        self._copied = []
        for at, view in enumerate(self._wanted):
            if view is not None and network.is_in_place[at] and _is_aligned(view):
                self._results[at] = TensorBuffer.create_from_host_memory(view)
            else:
                self._copied.append(at)
        self._run = network.model._model.RunByIndex
        self._capsules = [[each.capsule for each in it] for it in (self._sources, self._results)]
        self._kept: dict[int, Any] = {}

    def compute(self) -> None:
        """As engine.Run."""
        network = self._network
        sources, results = self._capsules
        with network.lock, _refusals():
            network.resize(self._inputs)
            for capsule, view, buffer in zip(sources, self._given, self._inputs, strict=True):
                if buffer.type in _BOOLS:  # true is any number but 0, and for LiteRT 1
                    view = (view != 0).view(np.uint8)
                wrapper.WriteTensorBuffer(capsule, view, _BYTES)
            self._run(0, sources, results)
            for at in self._copied:
                self._copy(at)

    def _copy(self, at: int) -> None:
        """Copy an output to the memory of the program, or to an array."""
        to = self._wanted[at]
        if to is None:
            array = self._network.empty(at)
            to, self._kept[at] = array.reshape(-1).view(np.uint8), array
        wrapper.ReadTensorToBuffer(self._capsules[1][at], to, _BYTES)

    def stop(self) -> None:
        """LiteRT computes to the end; its result is dropped."""

    def output(self, number: int) -> Any:
        """As engine.Run."""
        return self._kept[number]


def _view(buffer: Buffer) -> Any:
    """The bytes of an argument, without a copy."""
    size = element_count(buffer.dimensions) * ELEMENT_BYTES[buffer.type]
    data = address.view(buffer.address, size) if size else bytearray()
    return np.frombuffer(data, np.uint8)


def _is_aligned(view: Any) -> bool:
    return bool(view.ctypes.data % _ALIGNMENT == 0)


def serve(control: int) -> None:
    """What `probed` starts a process for."""
    answer(control, tried)


def tried(place: str, content: bytes) -> str:
    """Compute `small_model` in this process; why it is not right, or ""."""
    target = Target("", place, DeviceType.OTHER, "", PerformanceInfo(1.0, 1.0))
    wishes = Wishes(ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, False, 0)
    x = np.arange(-4, 4, dtype=np.float32)
    y = np.full_like(x, np.nan)
    given, taken = (
        Buffer(OperandType.TENSOR_FLOAT32, DIMENSIONS, each.ctypes.data) for each in (x, y)
    )
    try:
        network = Engine().compiled(target, File(content, ["x"], ["y"]), wishes)
        network.bound([given], [taken]).compute()
    except NnapiError as error:
        return error.message
    return "" if np.array_equal(y, np.maximum(x, 0)) else "it computes a small model wrong"
