"""Devices on engines: packages of others that compute models on processors, GPUs and NPUs.

`engine.py` has what an engine offers, in one small file each; `device.py` and the modules below it
make devices of the canonical interface of it, the same way for all. Models go to an engine in
memory, as .onnx (`savers.exchange`).
"""

from nnapi_shim.hints import NamedTuple


class Package(NamedTuple):
    """An engine's package: the modules to import, its name on package indexes, and the extra of
    nnapi_shim that installs it.
    """

    modules: tuple[str, ...]
    package: str
    extra: str


PACKAGES = {
    "openvino": Package(("openvino",), "openvino", "openvino"),
    "onnxruntime": Package(("onnxruntime",), "onnxruntime", "onnxruntime"),
    "iree": Package(("iree.compiler", "iree.runtime"), "iree-base-runtime", "iree"),
}
"""Engine, the name of its module here -> its package."""
