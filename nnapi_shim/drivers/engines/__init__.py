"""Devices on engines: packages of others that compute models on processors, GPUs and NPUs.

`engine.py` has what an engine offers, in one small file each; `device.py` and the modules below it
make devices of the canonical interface of it, the same way for all. Models go to an engine in
memory, as .onnx or .tflite (`savers.exchange`).
"""

from nnapi_shim.hints import NamedTuple


class Package(NamedTuple):
    """An engine's package: the modules to import, its name on package indexes, and the extra of
    nnapi_shim that installs it. writing: the modules that write its format. is_alone: whether it
    always runs in a process of its own, whatever NNAPI_SHIM_ISOLATE says.
    """

    modules: tuple[str, ...]
    package: str
    extra: str
    writing: tuple[str, ...] = ("onnx",)
    is_alone: bool = False


PACKAGES = {
    "openvino": Package(("openvino",), "openvino", "openvino"),
    "onnxruntime": Package(("onnxruntime",), "onnxruntime", "onnxruntime"),
    "iree": Package(("iree.compiler", "iree.runtime"), "iree-base-runtime", "iree"),
    "litert": Package(
        ("ai_edge_litert",), "ai-edge-litert", "litert", ("tflite", "flatbuffers"), is_alone=True
    ),
}
"""Engine, the name of its module here -> its package."""
