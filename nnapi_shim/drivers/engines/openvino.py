"""OpenVINO: a device for each processor, GPU and NPU that it finds."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import openvino

from nnapi_shim import address, log
from nnapi_shim.drivers.engines.declined import why_declined
from nnapi_shim.drivers.engines.declined_by_openvino import DECLINED
from nnapi_shim.drivers.engines.engine import PERFORMANCE, Buffer, File, Target, Wishes
from nnapi_shim.drivers.engines.kept import kept
from nnapi_shim.hal.enums import DeviceType, ExecutionPreference, OperandType, Priority
from nnapi_shim.hal.quantization import STRUCT_CODES
from nnapi_shim.hal.types import Dimensions, element_count

_KINDS = {"CPU": DeviceType.CPU, "GPU": DeviceType.GPU, "NPU": DeviceType.ACCELERATOR}
"""Kind of place, the beginning of its name -> type."""

_PRIORITIES = {Priority.LOW: "LOW", Priority.MEDIUM: "MEDIUM", Priority.HIGH: "HIGH"}


_INTEGERS = "LP_TRANSFORMS_MODE"
"""A property that the plugin for processors does not list: whether it computes quantized models in
integers. Some of its convolutions in integers clip sums, and some models do not compile.
"""


class Engine:
    """As engine.Engine."""

    format = ".onnx"
    takes_external = True

    def __init__(self) -> None:
        self._core = openvino.Core()
        self._version: str = openvino.__version__.partition("-")[0]

    def targets(self) -> list[Target]:
        """One for each device of a known kind, such as openvino-cpu and openvino-gpu.0."""
        targets = []
        for place in self._core.available_devices:
            kind, _, number = place.partition(".")
            if kind in _KINDS:
                name = f"openvino-{kind.lower()}"
                name += f".{number or 0}" if kind == "GPU" else f".{number}" if number else ""
                type = _KINDS[kind]
                version = self._version_of(place, type)
                targets.append(Target(name, place, type, version, PERFORMANCE[type]))
        return targets

    def _version_of(self, place: str, type: DeviceType) -> str:
        """The version, and which GPU or NPU it is: results and times are of both."""
        if type is DeviceType.CPU:
            return self._version
        return self._version + f", {self._core.get_property(place, 'FULL_DEVICE_NAME')}"

    def declined(self, target: Target, node: Any) -> str:
        """A row of DECLINED."""
        return why_declined(DECLINED, target.name, node)

    def compiled(self, target: Target, file: File, wishes: Wishes) -> "Network":
        """A compiled model. Results have the precision of float32, unless the model is relaxed and
        the device a GPU or NPU.
        """
        hints = self._hints(target, wishes)
        if file.external:
            with TemporaryDirectory(prefix="nnapi_shim-") as folder:
                model = self._read(file, Path(folder))
                return self._network(
                    target, self._compile(target, model, hints), lambda: model, hints
                )
        read = cache(partial(self._core.read_model, file.content))
        made: list[Any] = []

        def blob() -> bytes:
            made.append(self._compile(target, read(), hints))
            stream = BytesIO()
            try:
                if wishes.cache is not None:
                    made[0].export_model(stream)
            except RuntimeError as error:
                log.write("debug", f"{target.name} does not write its compiled models: {error}")
                return b""
            return stream.getvalue()

        def loads(stored: bytes) -> bool:
            try:
                made.append(self._core.import_model(stored, target.place, hints))
            except RuntimeError as error:
                log.write("debug", f"{target.name} does not take what was kept: {error}")
            return bool(made)

        about = [file.content, target.version.encode(), repr(sorted(hints.items())).encode()]
        kept(wishes.cache, about, blob, loads)
        return self._network(target, made[0], read, hints)

    def _read(self, file: File, folder: Path) -> Any:
        """A model whose constants are files in a folder, as OpenVINO takes them no other way."""
        for name, value in file.external.items():
            value.tofile(folder / name)
        path = folder / "model.onnx"
        path.write_bytes(file.content)
        return self._core.read_model(path)

    def _hints(self, target: Target, wishes: Wishes) -> dict[str, Any]:
        """The properties of a compilation."""
        is_throughput = wishes.preference is ExecutionPreference.SUSTAINED_SPEED
        hints: dict[str, Any] = {
            "PERFORMANCE_HINT": "THROUGHPUT" if is_throughput else "LATENCY",
            "MODEL_PRIORITY": _PRIORITIES[wishes.priority],
        }
        if target.type is DeviceType.CPU or not wishes.is_relaxed:
            hints["INFERENCE_PRECISION_HINT"] = "f32"
        if target.type is DeviceType.CPU and wishes.threads:
            hints["INFERENCE_NUM_THREADS"] = wishes.threads
        known = self._core.get_property(target.place, "SUPPORTED_PROPERTIES")
        hints = {name: value for name, value in hints.items() if name in known}
        if target.type is DeviceType.CPU:
            hints[_INTEGERS] = False
        return hints

    def _compile(self, target: Target, model: Any, hints: dict[str, Any]) -> Any:
        return self._core.compile_model(model, target.place, hints)

    def _network(
        self, target: Target, compiled: Any, read: Callable[[], Any], hints: dict[str, Any]
    ) -> "Network":
        """read: gives the model that is compiled."""
        if not any(each.partial_shape.is_dynamic for each in compiled.inputs):
            return Network(compiled)
        return OpenNetwork(compiled, read, lambda own: self._compile(target, own, hints))

    def allocated(self, target: Target, type: OperandType, dimensions: Dimensions) -> "Memory":
        """As engine.AllocatingEngine: in the memory of a GPU, in that of the process which an NPU
        reads, and for a processor as it likes it.
        """
        element, shape = openvino.Type(_dtype(type)), openvino.Shape(dimensions)
        if target.type is DeviceType.CPU:
            tensor = openvino.Tensor(element, shape)
        elif target.type is DeviceType.GPU:
            context = self._core.get_default_context(target.place)
            tensor = context.create_tensor(element, shape, {})
        else:
            context = self._core.get_default_context(target.place)
            tensor = context.create_host_tensor(element, shape)
        return Memory(tensor, type, dimensions)


class Memory:
    """As engine.Memory: a tensor of OpenVINO, on a device or in memory of the process."""

    def __init__(self, tensor: Any, type: OperandType, dimensions: Dimensions) -> None:
        self.tensor = tensor
        self._type, self._dimensions = type, dimensions

    def read(self, to: int, size: int) -> None:
        """As engine.Memory."""
        self.tensor.copy_to(_tensor(Buffer(self._type, self._dimensions, to)))

    def write(self, start: int, size: int) -> None:
        """As engine.Memory."""
        self.tensor.copy_from(_tensor(Buffer(self._type, self._dimensions, start)))


class Network:
    """As engine.Network: a compiled model."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def bound(self, inputs: Sequence[Buffer], outputs: Sequence[Buffer | None]) -> "Run":
        """As engine.Network."""
        request = self._compiled.create_infer_request()
        for number, buffer in enumerate(inputs):
            request.set_input_tensor(number, _tensor(buffer))
        for number, to in enumerate(outputs):
            if to is not None:
                request.set_output_tensor(number, _tensor(to))
        return Run(request)


class OpenNetwork(Network):
    """As engine.OpenNetwork: at each run OpenVINO works out the dimensions of each operation."""

    def __init__(
        self, compiled: Any, read: Callable[[], Any], compile: Callable[[Any], Any]
    ) -> None:
        super().__init__(compiled)
        self._read, self._compile = read, compile

    def settled(self, inputs: Sequence[Dimensions]) -> Network:
        """As engine.OpenNetwork; the constants are shared."""
        model = self._read().clone()
        model.reshape({number: list(each) for number, each in enumerate(inputs)})
        return Network(self._compile(model))


def _dtype(type: OperandType) -> Any:
    is_bool = type in (OperandType.BOOL, OperandType.TENSOR_BOOL8)
    return np.dtype(np.bool_ if is_bool else STRUCT_CODES[type])


def _tensor(buffer: Buffer) -> Any:
    """The memory of an argument as OpenVINO takes it, without a copy."""
    if buffer.memory is not None:
        assert isinstance(buffer.memory, Memory)
        return buffer.memory.tensor
    dtype = _dtype(buffer.type)
    count = element_count(buffer.dimensions)
    if not count:
        return openvino.Tensor(np.empty(buffer.dimensions, dtype))
    data = np.frombuffer(address.view(buffer.address, count * dtype.itemsize), dtype)
    return openvino.Tensor(data.reshape(buffer.dimensions), shared_memory=True)


class Run:
    """As engine.Run: an InferRequest."""

    def __init__(self, request: Any) -> None:
        self._request = request
        infer: Any = super(openvino.InferRequest, request)  # its own one looks at inputs
        self._infer = partial(infer.infer, {}, share_outputs=True, decode_strings=False)

    def compute(self) -> None:
        """As engine.Run."""
        self._infer()

    def stop(self) -> None:
        """OpenVINO ends before the next operation."""
        self._request.cancel()

    def output(self, number: int) -> Any:
        """As engine.Run."""
        return self._request.get_output_tensor(number).data
