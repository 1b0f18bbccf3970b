"""IREE: a device for the processor, and one for each GPU that its runtime finds."""

from collections.abc import Sequence
from importlib import metadata
from threading import Lock
from typing import Any

import numpy as np
from iree import runtime

from nnapi_shim import address
from nnapi_shim.drivers.engines.declined import why_declined
from nnapi_shim.drivers.engines.declined_by_iree import DECLINED
from nnapi_shim.drivers.engines.engine import Buffer, Target, Wishes
from nnapi_shim.drivers.engines.iree_compiler import compiled
from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import DeviceType, OperandType
from nnapi_shim.hal.quantization import STRUCT_CODES
from nnapi_shim.hal.types import PerformanceInfo, element_count

_PROCESSOR = "local-task"

_COMPILING_IS_SLOW = PerformanceInfo(2.0, 2.0)
"""For processors: seconds of compiling are worth it where a program or a calibration says so."""

_OPTIONS = {
    "cpu": (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=host",
    ),
}
"""Kind of device -> options of its compiler."""


class Engine:
    """As engine.Engine."""

    def __init__(self) -> None:
        self._version = metadata.version("iree-base-runtime")
        compiler = metadata.version("iree-base-compiler")
        if compiler != self._version:
            raise op_failed(
                f"iree-base-compiler {compiler} and iree-base-runtime {self._version} do not fit "
                "together",
                "engine.versions",
            )
        self._lock = Lock()
        self._devices: dict[str, Any] = {}

    def targets(self) -> list[Target]:
        """iree-cpu."""
        figures = _COMPILING_IS_SLOW
        return [Target("iree-cpu", _PROCESSOR, DeviceType.CPU, self._version, figures)]

    def declined(self, target: Target, node: Any) -> str:
        """A row of DECLINED."""
        return why_declined(DECLINED, node)

    def compiled(
        self,
        target: Target,
        content: bytes,
        inputs: Sequence[str],
        outputs: Sequence[str],
        wishes: Wishes,
    ) -> "Network":
        """A module, compiled in a process of its own, and loaded here."""
        module = compiled(content, _OPTIONS["cpu"])
        with self._lock:
            device = self._devices.get(target.place)
            if device is None:
                device = self._devices[target.place] = runtime.get_device(target.place)
        return Network(module, device)


class Network:
    """As engine.Network: a module in a context, which one thread at a time may enter."""

    def __init__(self, module: bytes, device: Any) -> None:
        context = runtime.SystemContext(config=runtime.Config(device=device))
        loaded = runtime.VmModule.copy_buffer(context.instance, module)
        context.add_vm_module(loaded)
        self._function = context.modules[loaded.name]["model"]
        self._lock = Lock()

    def bound(self, inputs: Sequence[Buffer], outputs: Sequence[Buffer | None]) -> "Run":
        """As engine.Network."""
        return Run(self, [_array(each) for each in inputs], [to and _array(to) for to in outputs])

    def results(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Arrays of the outputs for arrays of the inputs."""
        with self._lock:
            found = self._function(*inputs)
            found = found if isinstance(found, tuple) else (found,)
            return [each.to_host() for each in found]


def _array(buffer: Buffer) -> Any:
    """The memory of an argument as an array."""
    is_bool = buffer.type in (OperandType.BOOL, OperandType.TENSOR_BOOL8)
    dtype = np.dtype(np.bool_ if is_bool else STRUCT_CODES[buffer.type])
    count = element_count(buffer.dimensions)
    data = address.view(buffer.address, count * dtype.itemsize) if count else b""
    return np.frombuffer(data, dtype).reshape(buffer.dimensions)


class Run:
    """As engine.Run. IREE takes copies of inputs to its device, and outputs are copied back."""

    def __init__(self, network: Network, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self._network = network
        self._inputs = inputs
        self._outputs = outputs
        self._results: Sequence[Any] = ()

    def compute(self) -> None:
        """As engine.Run."""
        self._results = self._network.results(self._inputs)
        for to, result in zip(self._outputs, self._results, strict=True):
            if to is not None:
                to[...] = result

    def stop(self) -> None:
        """IREE computes to the end; its result is dropped."""

    def output(self, number: int) -> Any:
        """As engine.Run."""
        return self._results[number]
