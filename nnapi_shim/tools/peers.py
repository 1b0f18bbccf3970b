"""Other runtimes that run the same model, to be compared with: LiteRT and ONNX Runtime.

Each on one thread, with its arguments bound beforehand, as an execution that is computed again.
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.model import Model
from nnapi_shim.errors import NnapiError, bad_data, op_failed
from nnapi_shim.tools.info import installed_version
from nnapi_shim.tools.model_source import Source

PEERS = {"litert": ("ai-edge-litert", ".tflite"), "onnxruntime": ("onnxruntime", ".onnx")}
"""Name -> its package, and the files that it reads."""


class Peer(NamedTuple):
    """A model in another runtime. outputs: those of the last run."""

    name: str
    version: str
    run: Callable[[], object]
    outputs: Callable[[], list[Array]]


Inputs = tuple[Sequence[Array], Sequence[Any]]
"""Those that a run takes, and these with the states that are carried from run to run: a runtime
takes the ones or the others.
"""


def peer(name: str, source: Source, model: Model, inputs: Inputs) -> Peer:
    """A model made ready in a runtime, with these inputs.

    source: where the model comes from; a file that the runtime reads is given to it as it is, of
    any other the model is exported. Raises BAD_DATA for an unknown runtime and for a model that
    cannot be exported, OP_FAILED for one that the runtime does not run, and ImportError where the
    runtime is not installed.
    """
    if name not in PEERS:
        raise bad_data(f"there is no peer {name!r}; there are {', '.join(PEERS)}")
    package, suffix = PEERS[name]
    make = {"litert": _litert, "onnxruntime": _onnxruntime}[name]
    content = _content(source, model, suffix)
    try:
        run, outputs = make(content, inputs)
        run()
    except (NnapiError, ImportError, MemoryError):
        raise
    except Exception as error:  # whatever another runtime may raise
        reason = " ".join(str(error).split())[:300]
        raise op_failed(f"{name} does not run this model: {reason}", "peer") from None
    return Peer(name, installed_version(package) or "", run, outputs)


def _content(source: Source, model: Model, suffix: str) -> bytes:
    """The model as a file of this kind."""
    if not isinstance(source, Model):
        path = Path(os.fspath(source))
        if path.suffix == suffix and path.is_file():
            return path.read_bytes()
    from nnapi_shim.formats.save import save

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"model{suffix}")
        save(model, path)
        return path.read_bytes()


def _litert(content: bytes, inputs: Inputs) -> tuple[Callable[[], object], Any]:
    interpreter = import_module("ai_edge_litert.interpreter").Interpreter(
        model_content=content, num_threads=1
    )
    details = interpreter.get_input_details()
    arrays = _matching("LiteRT", len(details), inputs)
    for detail, array in zip(details, arrays, strict=True):
        if tuple(detail["shape"]) != array.shape:
            interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    for detail, array in zip(details, arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)

    def outputs() -> list[Array]:
        found = interpreter.get_output_details()
        return [interpreter.get_tensor(detail["index"]) for detail in found]

    return interpreter.invoke, outputs


def _onnxruntime(content: bytes, inputs: Inputs) -> tuple[Callable[[], object], Any]:
    onnxruntime = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    arrays = _matching("ONNX Runtime", len(session.get_inputs()), inputs)
    binding = session.io_binding()
    for argument, array in zip(session.get_inputs(), arrays, strict=True):
        binding.bind_cpu_input(argument.name, array)
    for argument in session.get_outputs():
        binding.bind_output(argument.name)

    def outputs() -> list[Array]:
        found: list[Array] = binding.copy_outputs_to_cpu()
        return found

    return lambda: session.run_with_iobinding(binding), outputs


def _matching(name: str, takes: int, inputs: Inputs) -> Sequence[Array]:
    """The inputs that a runtime takes; raises BAD_DATA where it takes neither."""
    for arrays in inputs:
        if len(arrays) == takes:
            return arrays
    counts = " or ".join(dict.fromkeys(str(len(arrays)) for arrays in inputs))
    raise bad_data(f"{name} takes {takes} inputs for this model; here it has {counts}", "inputs")


def import_of(name: str) -> None:
    """Raise ImportError where a peer's package is not installed, before any work is done."""
    module = {"litert": "ai_edge_litert", "onnxruntime": "onnxruntime"}.get(name)
    if module is not None:
        import_module(module)
