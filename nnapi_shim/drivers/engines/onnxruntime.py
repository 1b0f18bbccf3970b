"""ONNX Runtime: a device for each execution provider that the installed package reports."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime

from nnapi_shim import address
from nnapi_shim.drivers.engines.constants_apart import with_constants_apart
from nnapi_shim.drivers.engines.declined import why_declined
from nnapi_shim.drivers.engines.declined_by_onnxruntime import DECLINED
from nnapi_shim.drivers.engines.engine import PERFORMANCE, Buffer, File, Target, Wishes
from nnapi_shim.drivers.engines.kept import kept
from nnapi_shim.drivers.engines.limited import attempted
from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import DeviceType, ExecutionPreference, OperandType
from nnapi_shim.hal.quantization import STRUCT_CODES
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.processors import processor

_PLACES = {
    "CPU": DeviceType.CPU,
    "Dnnl": DeviceType.CPU,
    "CUDA": DeviceType.GPU,
    "NvTensorRTRTX": DeviceType.GPU,
    "Tensorrt": DeviceType.GPU,
    "ROCM": DeviceType.GPU,
    "MIGraphX": DeviceType.GPU,
    "DML": DeviceType.GPU,
    "WebGPU": DeviceType.GPU,
    "WebGpu": DeviceType.GPU,
    "OpenVINO": DeviceType.ACCELERATOR,
    "QNN": DeviceType.ACCELERATOR,
    "VitisAI": DeviceType.ACCELERATOR,
    "CANN": DeviceType.ACCELERATOR,
}
"""Execution provider, without the end of its name -> kind of hardware; others are none of ours."""

_MEMORY_OF = {"CPU": "cpu", "CUDA": "cuda", "Tensorrt": "cuda", "NvTensorRTRTX": "cuda"}
"""Execution provider -> device of its OrtValues; others have none."""

_WRITERS = ("NvTensorRTRTX", "OpenVINO", "QNN", "Tensorrt", "VitisAI")
"""Execution providers that write what they have compiled, as nodes EPContext."""

_NOTHING = b"nothing"
"""Kept in place of a model that a provider does not write, or does not take then: to try it again
would take as long as to compile.
"""

_END = "ExecutionProvider"

_SILENT = 4
"""Severity below which ONNX Runtime logs nothing: failures are raised, too."""

_ELEMENT_TYPES = {"f": 1, "B": 2, "b": 3, "H": 4, "h": 5, "i": 6, "e": 10, "I": 12}
"""Format character of an element -> TensorProto.DataType."""
_BOOL = 9


_STATE = onnxruntime.capi.onnxruntime_pybind11_state
_REFUSED = (_STATE.Fail, _STATE.NotImplemented)
"""Raised, for one, where several nodes share a constant that the option for exact sums changes for
one of them: the type of the others does not fit then, or no kernel has it.
"""


class Engine:
    """As engine.Engine."""

    format = ".onnx"
    takes_external = True

    def targets(self) -> list[Target]:
        """One for each execution provider of a known kind."""
        targets = []
        for provider in onnxruntime.get_available_providers():
            kind = _PLACES.get(provider.removesuffix(_END))
            if kind is not None:
                name = f"onnxruntime-{provider.removesuffix(_END).lower()}"
                version = onnxruntime.__version__
                targets.append(Target(name, provider, kind, version, PERFORMANCE[kind]))
        return targets

    def declined(self, target: Target, node: Any) -> str:
        """A row of DECLINED."""
        return why_declined(DECLINED, target.name, node)

    def compiled(self, target: Target, file: File, wishes: Wishes) -> "Network":
        """A session on the provider, with the processor for what the provider does not run; on
        what the provider has written before, if that is kept.
        """
        made: list[Network] = []

        def loads(content: bytes) -> bool:
            if content == _NOTHING:
                return True
            network = attempted(
                lambda: self._network(target, file._replace(content=content), wishes),
                f"{target.name} does not take a model that it has written",
            )
            made.extend(filter(None, [network]))
            return network is not None

        def written() -> bytes:
            content = attempted(
                lambda: _written(target, file.content, wishes),
                f"{target.name} does not write its compiled models",
            )
            return content if content and loads(content) else _NOTHING

        if wishes.cache and target.place.removesuffix(_END) in _WRITERS and not file.external:
            about = [file.content, target.version.encode(), target.place.encode()]
            kept(wishes.cache, about, written, loads)
        return made[0] if made else self._network(target, file, wishes)

    def _network(self, target: Target, file: File, wishes: Wishes) -> "Network":
        options = _options(wishes)
        values: dict[str, Any] = {}
        content, external = file.content, file.external
        _give(options, content, external, values)
        cpu = f"CPU{_END}"
        providers = [target.place] if target.place == cpu else [target.place, cpu]
        try:
            session = onnxruntime.InferenceSession(content, options, providers=providers)
        except _REFUSED:
            content = with_constants_apart(content)
            _give(options, content, external, values)
            session = onnxruntime.InferenceSession(content, options, providers=providers)
        if session.get_providers()[0] != target.place:
            raise op_failed(
                f"ONNX Runtime lists {target.place}, and cannot use it here; it fell back to "
                f"{', '.join(session.get_providers())}",
                "engine.provider",
            )
        return Network(session, file.inputs, file.outputs, values)

    def allocated(
        self, target: Target, type: OperandType, dimensions: Dimensions
    ) -> "Memory | None":
        """As engine.AllocatingEngine."""
        place = _MEMORY_OF.get(target.place.removesuffix(_END))
        return None if place is None else Memory(place, type, dimensions)


def _saturates() -> bool:
    """Whether sums of bytes saturate, unless that is forbidden: where the processor has no dot
    products of them. Elsewhere to forbid it takes twice the time.
    """
    return not {"avx512_vnni", "avx_vnni"} & processor()[1]


def _options(wishes: Wishes) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _SILENT
    options.intra_op_num_threads = wishes.threads
    if _saturates():
        options.add_session_config_entry("session.x64quantprecision", "1")
    if wishes.preference is ExecutionPreference.LOW_POWER:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def _written(target: Target, content: bytes, wishes: Wishes) -> bytes:
    """A model with what a provider has compiled of it; an error if that is nothing."""
    options = _options(wishes)
    options.add_provider(target.place, {})
    compiler = onnxruntime.ModelCompiler(
        options,
        content,
        embed_compiled_data_into_model=True,
        flags=onnxruntime.OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED,
        graph_optimization_level=options.graph_optimization_level,  # by default none
    )
    return bytes(compiler.compile_to_bytes())


def _give(options: Any, content: bytes, external: Mapping[str, Any], given: dict[str, Any]) -> None:
    """Give a session the arrays in place of the files that a model names.

    given: name of a constant -> its value, if the session has it; gets the others. The session
    reads them.
    """
    if not external:
        return
    new = {
        each.name: onnxruntime.OrtValue.ortvalue_from_numpy(external[entry.value])
        for each in onnx.load_from_string(content).graph.initializer
        for entry in each.external_data
        if entry.key == "location" and each.name not in given
    }
    options.add_external_initializers([*new], [*new.values()])
    given.update(new)


class Memory:
    """As engine.Memory: an OrtValue."""

    def __init__(self, place: str, type: OperandType, dimensions: Dimensions) -> None:
        make = onnxruntime.OrtValue.ortvalue_from_shape_and_type
        self.value = make(list(dimensions), _element(type), place, 0)
        self._dtype = np.dtype(np.bool_ if _is_bool(type) else STRUCT_CODES[type])
        self._shape = dimensions

    def read(self, to: int, size: int) -> None:
        """As engine.Memory."""
        array = np.ascontiguousarray(self.value.numpy())
        address.copy(to, array.ctypes.data, size)

    def write(self, start: int, size: int) -> None:
        """As engine.Memory."""
        given = np.frombuffer(address.view(start, size), self._dtype)
        self.value.update_inplace(given.reshape(self._shape))


class Network:
    """As engine.Network: a session."""

    def __init__(
        self, session: Any, inputs: Sequence[str], outputs: Sequence[str], kept: object
    ) -> None:
        """kept: what the session reads."""
        self.session = session
        self._kept = kept
        self._inputs = inputs
        self._outputs = outputs

    def bound(self, inputs: Sequence[Buffer], outputs: Sequence[Buffer | None]) -> "Run":
        """As engine.Network."""
        binding = self.session.io_binding()
        for name, buffer in zip(self._inputs, inputs, strict=True):
            if buffer.memory is not None:
                binding.bind_ortvalue_input(name, _value(buffer))
            else:
                binding.bind_input(name, "cpu", 0, *_described(buffer))
        for name, to in zip(self._outputs, outputs, strict=True):
            if to is None:
                binding.bind_output(name, "cpu")
            elif to.memory is not None:
                binding.bind_ortvalue_output(name, _value(to))
            else:
                binding.bind_output(name, "cpu", 0, *_described(to))
        return Run(self.session, binding)


def _described(buffer: Buffer) -> tuple[int, list[int], int]:
    """Element type, dimensions and address, as bindings take them."""
    return _element(buffer.type), list(buffer.dimensions), buffer.address


def _value(buffer: Buffer) -> Any:
    assert isinstance(buffer.memory, Memory)
    return buffer.memory.value


def _is_bool(type: OperandType) -> bool:
    return type in (OperandType.BOOL, OperandType.TENSOR_BOOL8)


def _element(type: OperandType) -> int:
    """As TensorProto.DataType."""
    return _BOOL if _is_bool(type) else _ELEMENT_TYPES[STRUCT_CODES[type]]


class Run:
    """As engine.Run: an IoBinding."""

    def __init__(self, session: Any, binding: Any) -> None:
        self._options = onnxruntime.RunOptions()
        self._options.log_severity_level = _SILENT
        self._binding = binding
        self._outputs: Any = None
        self._run = session._sess.run_with_iobinding
        self._io = binding._iobinding

    def compute(self) -> None:
        """As engine.Run."""
        self._outputs = None
        self._run(self._io, self._options)

    def stop(self) -> None:
        """ONNX Runtime ends before the next node."""
        self._options.terminate = True

    def output(self, number: int) -> Any:
        """As engine.Run."""
        if self._outputs is None:
            self._outputs = self._binding.get_outputs()
        return self._outputs[number].numpy()
