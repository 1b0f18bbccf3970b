"""Loads model files into other runtimes: LiteRT, ONNX Runtime, OpenVINO.

Imports little, so that memory of a process is that of the runtime.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple


class Runtime(NamedTuple):
    """A runtime. package: name for pip. module: name of the Python module. suffix: format of
    exported models. reads: suffixes of all formats that it reads.
    """

    package: str
    module: str
    suffix: str
    reads: tuple[str, ...]


RUNTIMES = {
    "litert": Runtime("ai-edge-litert", "ai_edge_litert", ".tflite", (".tflite",)),
    "onnxruntime": Runtime("onnxruntime", "onnxruntime", ".onnx", (".onnx",)),
    "openvino": Runtime("openvino", "openvino", ".tflite", (".tflite", ".onnx")),
}

Choose = Callable[[int], Sequence[Any]]
"""Number of inputs -> their arrays; raises if there are none."""


class Ready(NamedTuple):
    """A loaded model. run: runs it with bound arguments. outputs: returns those of the last run."""

    run: Callable[[], object]
    outputs: Callable[[], list[Any]]


def ready(name: str, path: str, choose: Choose, threads: int) -> Ready:
    """Load a model file and bind its inputs. Raises any exception of the runtime."""
    make = {"litert": _litert, "onnxruntime": _onnxruntime, "openvino": _openvino}[name]
    return make(path, choose, threads)


def _litert(path: str, choose: Choose, threads: int) -> Ready:
    module = import_module("ai_edge_litert.interpreter")
    with _without_information():
        interpreter = module.Interpreter(model_path=path, num_threads=threads)
    details = interpreter.get_input_details()
    arrays = choose(len(details))
    for detail, array in zip(details, arrays, strict=True):
        if tuple(detail["shape"]) != array.shape:
            interpreter.resize_tensor_input(detail["index"], array.shape)
    with _without_information():
        interpreter.allocate_tensors()
    for detail, array in zip(details, arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)

    def outputs() -> list[Any]:
        results = interpreter.get_output_details()
        return [interpreter.get_tensor(detail["index"]) for detail in results]

    return Ready(interpreter.invoke, outputs)


@contextmanager
def _without_information() -> Iterator[None]:
    """Drop the lines `INFO: ...` that LiteRT writes to descriptor 2; write others afterwards."""
    try:
        before = os.dup(2)
    except OSError:  # the process has no stderr
        yield
        return
    with tempfile.TemporaryFile() as lines:
        os.dup2(lines.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)
            lines.seek(0)
            for line in lines:
                if not line.startswith(b"INFO: "):
                    os.write(2, line)


def _onnxruntime(path: str, choose: Choose, threads: int) -> Ready:
    onnxruntime = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    chosen = choose(len(session.get_inputs()))
    arrays = [_declared(i, array) for i, array in zip(session.get_inputs(), chosen, strict=True)]
    binding = session.io_binding()
    for argument, array in zip(session.get_inputs(), arrays, strict=True):
        binding.bind_cpu_input(argument.name, array)
    for argument in session.get_outputs():
        binding.bind_output(argument.name)

    def outputs() -> list[Any]:
        results: list[Any] = binding.copy_outputs_to_cpu()
        return results

    run = partial(session.run_with_iobinding, binding)
    run.needs = arrays  # type: ignore[attr-defined]
    return Ready(run, outputs)


def _declared(argument: Any, array: Any) -> Any:
    """An input with the int64 elements or the rank 0 that NNAPI does not have."""
    if argument.type == "tensor(int64)":
        array = array.astype("int64")
    return array.reshape(()) if not argument.shape and array.size == 1 else array


def _openvino(path: str, choose: Choose, threads: int) -> Ready:
    openvino = import_module("openvino")
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",  # the default is bfloat16 if the processor supports it
    }
    core = openvino.Core()
    model = core.read_model(path)
    arrays = choose(len(model.inputs))
    shapes = {argument: array.shape for argument, array in zip(model.inputs, arrays, strict=True)}
    if any(argument.partial_shape.is_dynamic for argument in model.inputs):
        model.reshape(shapes)
    compiled = core.compile_model(model, "CPU", settings)
    request = compiled.create_infer_request()
    tensors = [openvino.Tensor(array, shared_memory=True) for array in arrays]
    for position, tensor in enumerate(tensors):
        request.set_input_tensor(position, tensor)

    def outputs() -> list[Any]:
        positions = range(len(compiled.outputs))
        return [request.get_output_tensor(position).data.copy() for position in positions]

    run = partial(request.infer, share_inputs=True, share_outputs=True)
    run.needs = core, compiled, tensors, arrays  # type: ignore[attr-defined]
    return Ready(run, outputs)
