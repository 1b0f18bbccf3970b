"""Android's Neural Networks API as a library for desktop Linux.

The names of the Python API are imported at their first use: the library imports this package in
every C program, which needs neither numpy nor the Python API.
"""

import sys

from nnapi_shim import savers
from nnapi_shim.version import __version__ as __version__

TYPE_CHECKING = False  # hints.py is imported later, on demand

if TYPE_CHECKING:
    from nnapi_shim import capi as capi
    from nnapi_shim import tools as tools
    from nnapi_shim.api.compilation import Compilation as Compilation
    from nnapi_shim.api.compliance import compliance as compliance
    from nnapi_shim.api.devices import Device as Device
    from nnapi_shim.api.devices import devices as devices
    from nnapi_shim.api.execution import Execution as Execution
    from nnapi_shim.api.lint import lint as lint
    from nnapi_shim.api.model import Model as Model
    from nnapi_shim.api.operand import Operand as Operand
    from nnapi_shim.api.quantization import dequantize as dequantize
    from nnapi_shim.api.quantization import quantization_of as quantization_of
    from nnapi_shim.api.quantization import quantize as quantize
    from nnapi_shim.errors import NnapiError as NnapiError
    from nnapi_shim.errors import last_error as last_error
    from nnapi_shim.folders import get_include as get_include
    from nnapi_shim.folders import get_library_dir as get_library_dir
    from nnapi_shim.formats.load import load as load
    from nnapi_shim.hal.enums import DeviceType as DeviceType
    from nnapi_shim.hal.enums import DurationCode as DurationCode
    from nnapi_shim.hal.enums import ExecutionPreference as ExecutionPreference
    from nnapi_shim.hal.enums import FeatureLevel as FeatureLevel
    from nnapi_shim.hal.enums import FuseCode as FuseCode
    from nnapi_shim.hal.enums import OperandType as OperandType
    from nnapi_shim.hal.enums import OperationType as OperationType
    from nnapi_shim.hal.enums import PaddingCode as PaddingCode
    from nnapi_shim.hal.enums import Priority as Priority
    from nnapi_shim.hal.enums import ResultCode as ResultCode
    from nnapi_shim.runtime.device_manager import register_driver as register_driver
    from nnapi_shim.tools.predictor import Predictor as Predictor
    from nnapi_shim.tools.profiling import profile as profile

_NAMES = {
    "api.compilation": "Compilation",
    "api.compliance": "compliance",
    "api.devices": "Device devices",
    "api.execution": "Execution",
    "api.lint": "lint",
    "api.model": "Model",
    "api.operand": "Operand",
    "api.quantization": "dequantize quantization_of quantize",
    "errors": "NnapiError last_error",
    "folders": "get_include get_library_dir",
    "formats.load": "load",
    "hal.enums": "DeviceType DurationCode ExecutionPreference FeatureLevel FuseCode OperandType "
    "OperationType PaddingCode Priority ResultCode",
    "runtime.device_manager": "register_driver",
    "tools.predictor": "Predictor",
    "tools.profiling": "profile",
}
"""Module -> its public names; the imports above repeat them for type checkers."""

_MODULES = ("capi", "tools")
"""Modules that are attributes, too."""

savers.module = f"{__name__}.formats.save"
savers.exchange_modules = {
    f".{name}": f"{__name__}.formats.{name}.exchange" for name in ("onnx", "tflite")
}
savers.picture_module = f"{__name__}.pictures.notebook"

__all__ = [
    "Compilation",
    "Device",
    "DeviceType",
    "DurationCode",
    "Execution",
    "ExecutionPreference",
    "FeatureLevel",
    "FuseCode",
    "Model",
    "NnapiError",
    "Operand",
    "OperandType",
    "OperationType",
    "PaddingCode",
    "Predictor",
    "Priority",
    "ResultCode",
    "__version__",
    "capi",
    "compliance",
    "dequantize",
    "devices",
    "get_include",
    "get_library_dir",
    "last_error",
    "lint",
    "load",
    "profile",
    "quantization_of",
    "quantize",
    "register_driver",
    "tools",
]

_home = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    from nnapi_shim.modules import import_module

    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _home:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])  # for a suggestion
    try:
        value = globals()[name] = getattr(import_module(f"{__name__}.{_home[name]}"), name)
    except ImportError as error:
        if error.name != "numpy":
            raise
        raise ImportError(
            f"{__name__}.{name} needs numpy, which is not there; `pip install numpy` (C programs "
            "on nnapi-cpu need none)"
        ) from None
    return value


def __dir__() -> list[str]:
    return [*globals(), *_MODULES, *_home]
