"""The installation: devices, processor, versions, folders, settings."""

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from nnapi_shim import folders, processors
from nnapi_shim.drivers import is_built_in
from nnapi_shim.drivers.cpu.isa import platform_machine
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import DeviceType, OperandType
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hal.types import Capabilities, PerformanceInfo
from nnapi_shim.runtime import device_manager
from nnapi_shim.settings import SETTINGS, Setting
from nnapi_shim.tools.engines import EngineInfo, engines
from nnapi_shim.tools.report import Report
from nnapi_shim.version import __version__

EXTRAS = {
    "jit": ("numba",),
    "tflite": ("tflite", "flatbuffers"),
    "onnx": ("onnx",),
    "tools": ("typer", "rich", "matplotlib", "pillow"),
    "explorer": ("ai-edge-model-explorer",),
    "openvino": ("openvino", "onnx"),
    "onnxruntime": ("onnxruntime", "onnx"),
    "iree": ("iree-base-compiler", "iree-base-runtime", "onnx"),
    "litert": ("ai-edge-litert", "tflite", "flatbuffers"),
}
"""Extra of nnapi_shim -> the packages that it installs."""

PACKAGES = ("cffi", "numpy")
PEERS = ("ai-edge-litert", "onnxruntime", "openvino")

_FEATURES = (
    *("sse4_2", "popcnt", "avx", "avx2", "fma", "f16c", "bmi2", "avx512f", "avx512bw"),
    *("avx512dq", "avx512vl", "avx512_vnni", "avx_vnni", "avx512_bf16", "avx512_fp16"),
    *("amx_tile", "amx_int8", "amx_bf16"),
    *("asimd", "asimdrdm", "asimddp", "asimdhp", "i8mm", "bf16", "sve", "sve2", "sme"),
)
"""Processor features that kernels use or could use."""


@dataclass(frozen=True)
class DeviceInfo:
    """A device; devices are listed in NNAPI's order.

    feature_level: that of the specification, 1 to 8. hal: the driver's HAL version, "1.0" or "1.1";
    "" for the library's own interface. is_isolated: whether it runs in a process of its own.
    extensions: their names. exec_time, power_usage: its
    declared performance by operand type, `IF`, `WHILE` and `relaxed float32`, relative to the CPU;
    smaller is better. problem: the error of the query, or "".
    """

    number: int
    name: str
    type: DeviceType
    version: str
    feature_level: int
    hal: str
    is_built_in: bool
    is_isolated: bool
    extensions: tuple[str, ...]
    exec_time: dict[str, float]
    power_usage: dict[str, float]
    problem: str


@dataclass(frozen=True)
class Processor:
    """The processor. tiers: supported instruction-set tiers, best first; tier: the one in use.
    kernels: the kernel library of that tier, or "" if it is not built. problem: why the CPU device
    cannot run, or "".
    """

    name: str
    architecture: str
    count: int
    features: tuple[str, ...]
    tiers: tuple[str, ...]
    tier: str
    kernels: str
    problem: str


@dataclass(frozen=True)
class SettingInfo:
    """An environment variable of the library. origin: `default`, `environment`, or the path
    of the settings file.
    """

    name: str
    value: str
    origin: str
    default: str
    meaning: str


@dataclass(frozen=True)
class Info(Report):
    """The complete report. packages: version of each package, None if it is not installed.

    paths: name -> path, or "" if it does not exist.
    """

    version: str
    python: str
    executable: str
    system: str
    packages: dict[str, str | None]
    extras: dict[str, bool]
    """Extra -> whether all its packages are installed."""
    processor: Processor
    devices: tuple[DeviceInfo, ...]
    engines: tuple[EngineInfo, ...]
    settings: tuple[SettingInfo, ...]
    paths: dict[str, str]


def info() -> Info:
    """The installation as this process sees it."""
    packages = [*PACKAGES, *(name for names in EXTRAS.values() for name in names), *PEERS]
    versions = {name: installed_version(name) for name in dict.fromkeys(packages)}
    return Info(
        __version__,
        platform.python_version(),
        sys.executable,
        platform.platform(),
        versions,
        {extra: all(versions[name] for name in names) for extra, names in EXTRAS.items()},
        processor(),
        tuple(
            device_info(number, driver) for number, driver in enumerate(device_manager.devices())
        ),
        engines(),
        tuple(map(_setting, SETTINGS)),
        paths(),
    )


def installed_version(package: str) -> str | None:
    """Version of an installed package, without importing it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def processor() -> Processor:
    """The processor's features and the best kernels for it."""
    name, flags = processors.processor()
    features = tuple(feature for feature in _FEATURES if feature in flags)
    machine, count = platform_machine(), len(os.sched_getaffinity(0))
    try:
        tiers = tuple(library.processor_tiers())
        current = library.current()
    except NnapiError as error:
        return Processor(name, machine, count, features, (), "", "", error.message)
    files = [
        Path(folder, library.library_name(current.tier)) for folder in library.library_folders()
    ]
    kernels = next((str(file) for file in files if file.exists()), "")
    return Processor(name, machine, count, features, tiers, current.tier, kernels, "")


def device_info(number: int, driver: IDevice) -> DeviceInfo:
    """A device's description of itself."""
    times: dict[str, float] = {}
    powers: dict[str, float] = {}
    problem = ""
    names: tuple[str, ...] = ()
    try:
        for use, each in _figures(driver.getCapabilities()).items():
            times[use], powers[use] = each
        extensions = getattr(driver, "getSupportedExtensions", None)
        if extensions is not None:
            names = tuple(extension.name for extension in extensions())
    except NnapiError as error:
        problem = error.message
    return DeviceInfo(
        number,
        driver.name,
        driver.type,
        driver.version,
        specification_level(driver),
        getattr(driver, "hal", ""),
        is_built_in(driver.name),
        getattr(driver, "is_isolated", False),
        names,
        times,
        powers,
        problem,
    )


def specification_level(driver: IDevice) -> int:
    """The feature level of a device in the specification's numbering, from 1."""
    level = int(driver.feature_level)
    return level - 26 if 27 <= level <= 31 else level - 1000000


def _figures(capabilities: Capabilities) -> dict[str, PerformanceInfo]:
    each = {
        kind.name: info
        for kind, info in capabilities.operand_performance.items()
        if isinstance(kind, OperandType)
    }
    return {
        **each,
        "relaxed float32": capabilities.relaxed_float32_to_float16_performance_tensor,
        "IF": capabilities.if_performance,
        "WHILE": capabilities.while_performance,
    }


def _setting(setting: Setting) -> SettingInfo:
    return SettingInfo(
        setting.name, setting.get(), setting.origin, setting.default, setting.meaning
    )


def paths() -> dict[str, str]:
    """Name -> path of the installed parts; "" for a missing one."""
    libraries = _path_or_empty(folders.get_library_dir)
    return {
        "package": str(Path(folders.__file__).parent),
        "library": str(Path(libraries, folders.LIBRARY)) if libraries else "",
        "headers": _path_or_empty(folders.get_include),
    }


def _path_or_empty(folder: Callable[[], str]) -> str:
    try:
        return folder()
    except FileNotFoundError:
        return ""
