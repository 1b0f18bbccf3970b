"""Devices, results and errors as values of JSON, in which a process tells them to the program."""

from nnapi_shim.errors import NnapiError, Place
from nnapi_shim.hal.enums import DeviceType, ErrorStatus, FeatureLevel, OperandType, ResultCode
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hal.types import (
    Capabilities,
    ExecutionResult,
    Extension,
    ExtensionOperandType,
    OutputShape,
    PerformanceInfo,
    Timing,
)
from nnapi_shim.hints import Any, NamedTuple


class Description(NamedTuple):
    """What a device says of itself, or the error of the attempt to load it.

    hal: "1.0" or "1.1" for a device of that interface, else "". capabilities: or the error of the
    device.
    """

    name: str
    error: NnapiError | None
    version: str = ""
    type: DeviceType = DeviceType.UNKNOWN
    feature_level: FeatureLevel = FeatureLevel.LEVEL_1
    hal: str = ""
    extensions: tuple[Extension, ...] = ()
    capabilities: Capabilities | NnapiError | None = None

    @classmethod
    def read(cls, told: Any) -> "Description":
        """The description in JSON; raises KeyError, TypeError or ValueError for what is none."""
        name = _text(told["name"])
        if "error" in told:
            return cls(name, error_from(told["error"]))
        figures = told["capabilities"]
        return cls(
            name,
            None,
            _text(told["version"]),
            DeviceType(told["type"]),
            FeatureLevel(told["feature_level"]),
            _text(told["hal"]),
            tuple(_extension(each) for each in told["extensions"]),
            error_from(figures["error"]) if "error" in figures else _capabilities(figures),
        )


def described(device: IDevice) -> dict[str, Any]:
    """A device for JSON."""
    figures: dict[str, Any]
    try:
        relaxed_scalar, relaxed_tensor, by_type, if_, while_ = device.getCapabilities()
        figures = {
            "by_type": [[int(type), *each] for type, each in by_type.items()],
            "others": [[*each] for each in (relaxed_scalar, relaxed_tensor, if_, while_)],
        }
    except NnapiError as error:
        figures = {"error": told(error)}
    extensions: Any = getattr(device, "getSupportedExtensions", tuple)()
    return {
        "name": device.name,
        "version": device.version,
        "type": int(device.type),
        "feature_level": int(device.feature_level),
        "hal": getattr(device, "hal", ""),
        "extensions": [[name, [[*each] for each in types]] for name, types in extensions],
        "capabilities": figures,
    }


def told(error: NnapiError) -> list[Any]:
    """An error for JSON."""
    places = [[*place] for place in error.places]
    return [int(error.code), error.message, error.rule, error.said, places]


def error_from(told: Any) -> NnapiError:
    """The error in JSON; raises TypeError or ValueError for what is none."""
    code, message, rule, said, places = told
    return NnapiError(
        ResultCode(code),
        _text(message),
        rule=_text(rule),
        said=_text(said),
        places=tuple(Place(_text(kind), int(at), _text(name)) for kind, at, name in places),
    )


def told_result(result: ExecutionResult) -> list[Any]:
    """The result of a run for JSON."""
    shapes = [[[*shape.dimensions], shape.is_sufficient] for shape in result.output_shapes]
    return [int(result.status), shapes, [*result.timing]]


def result_from(told: Any) -> ExecutionResult:
    """The result in JSON; raises TypeError or ValueError for what is none."""
    status, shapes, timing = told
    return ExecutionResult(
        ErrorStatus(status),
        tuple(OutputShape(tuple(map(_size, each)), bool(enough)) for each, enough in shapes),
        Timing(*(None if time is None else _size(time) for time in timing)),
    )


def _size(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _extension(told: Any) -> Extension:
    name, types = told
    return Extension(
        _text(name),
        tuple(
            ExtensionOperandType(_size(type), bool(is_tensor), _size(size))
            for type, is_tensor, size in types
        ),
    )


def _capabilities(told: Any) -> Capabilities:
    relaxed_scalar, relaxed_tensor, if_, while_ = (_figures(each) for each in told["others"])
    known = {int(type) for type in OperandType}
    by_type = {
        OperandType(type): _figures(each) for type, *each in told["by_type"] if type in known
    }
    return Capabilities(relaxed_scalar, relaxed_tensor, by_type, if_, while_)


def _figures(told: Any) -> PerformanceInfo:
    time, power = told
    return PerformanceInfo(float(time), float(power))
