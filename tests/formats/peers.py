"""The other runtimes that exported models are computed in."""

from pathlib import Path
from typing import Any

import numpy as np

from nnapi_shim.api.model import Model

_CPU, _PRECISE = "CPUExecutionProvider", "session.x64quantprecision"


def exported(model: Model, format: str) -> bytes:
    """A model in a format, as bytes."""
    if format == "tflite":
        from nnapi_shim.formats.tflite.exporting import export
    else:
        from nnapi_shim.formats.onnx.exporting import export
    (content,) = export(model, Path(f"model.{format}")).values()
    return content


def in_litert(content: bytes, inputs: list[Any]) -> list[Any]:
    """A .tflite file in LiteRT, by its own kernels: those of XNNPACK round otherwise."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(
        model_content=content, num_threads=1, experimental_op_resolver_type=resolver
    )
    details = interpreter.get_input_details()
    for detail, value in zip(details, inputs, strict=True):
        if tuple(detail["shape"]) != value.shape:
            interpreter.resize_tensor_input(detail["index"], value.shape)
    interpreter.allocate_tensors()
    for detail, value in zip(details, inputs, strict=True):
        interpreter.set_tensor(detail["index"], value.astype(detail["dtype"]))
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def in_onnxruntime(content: bytes, inputs: list[Any]) -> list[Any]:
    """An .onnx file in ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    # Sums of products of bytes saturate by default on processors without dot products of bytes. The
    # option that avoids it fails where several nodes share a constant, and at QGemm of int8.
    errors = onnxruntime.capi.onnxruntime_pybind11_state
    options.add_session_config_entry(_PRECISE, "1")
    try:
        session = onnxruntime.InferenceSession(content, options, providers=[_CPU])
    except (errors.Fail, errors.NotImplemented):
        options.add_session_config_entry(_PRECISE, "0")
        session = onnxruntime.InferenceSession(content, options, providers=[_CPU])
    named = {i.name: np.asarray(v) for i, v in zip(session.get_inputs(), inputs, strict=True)}
    return list(session.run(None, named))


RUNS = {"tflite": in_litert, "onnx": in_onnxruntime}
