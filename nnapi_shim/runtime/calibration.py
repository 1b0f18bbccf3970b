"""The calibration of this user's machine: measured times of devices, in a file.

`nnapi-shim calibrate` writes it. A compilation reads it if devices of others are among its choices
(`costs.py`). A file that is damaged, of another version or of another machine is not used.
"""

import os
from errno import ENOENT

from nnapi_shim import log
from nnapi_shim.drivers.cpu.cache.folder import (
    ABSENT,
    Folder,
    Untrusted,
    folder_of_user,
    is_privileged,
)
from nnapi_shim.drivers.cpu.program.threads import count
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hints import Any, Mapping, NamedTuple, Sequence
from nnapi_shim.processors import processor
from nnapi_shim.runtime.work_kinds import KINDS, TYPES
from nnapi_shim.version import __version__

FILE = "calibration.json"
SCHEMA = 1
"""Of the file; changed when a field or the meaning of a kind changes."""

UNIT = "nnapi-cpu"
"""The device to which figures that devices declare are relative; a calibration always has it."""

_MOST_BYTES = 1 << 22
_LARGEST = 1e30
_MORE = "`nnapi-shim calibrate` measures again"


class Point(NamedTuple):
    """The measured time of one operation with an amount of work (work_kinds.py)."""

    amount: float
    seconds: float


class MeasuredDevice(NamedTuple):
    """The times of a device, in seconds.

    call: of an execution with next to nothing to compute. handing_over: type -> for each byte of an
    input or output. times: kind of work -> type -> a small and a large operation.
    """

    name: str
    version: str
    is_isolated: bool
    call: float
    handing_over: Mapping[str, float]
    times: Mapping[str, Mapping[str, tuple[Point, Point]]]


class Change(NamedTuple):
    """What a change from one device to the other, or back, takes beside all else, in seconds: the
    threads of one may wait for its next run on the processors that the other needs.
    """

    one: str
    other: str
    seconds: float


class Calibration(NamedTuple):
    """A calibration. threads: those of a run on nnapi-cpu. made: when, UTC. step: what a step of
    several costs beside its execution, in seconds.
    """

    library: str
    processor: str
    threads: int
    made: str
    step: float
    devices: tuple[MeasuredDevice, ...]
    changes: tuple[Change, ...]

    def device(self, name: str) -> MeasuredDevice | None:
        """The times of a device; None if it was not measured."""
        return next((each for each in self.devices if each.name == name), None)

    def change(self, one: str, other: str) -> float:
        """What a change between two devices takes; one that was not measured, as the longest."""
        if one == other:
            return 0.0
        pair = {one, other}
        most = max((each.seconds for each in self.changes), default=0.0)
        return next((each.seconds for each in self.changes if {each.one, each.other} == pair), most)


class DamagedError(Exception):
    """A file is no calibration; the message says why."""


def path() -> str:
    """The path of the file, which need not exist."""
    return f"{folder_of_user()}/{FILE}"


_read: dict[str, Calibration | None] = {}
"""Path -> what was read from it; a process reads a file once."""


def current(devices: Sequence[IDevice]) -> Calibration | None:
    """The calibration, if there is one that holds for these devices. Says once why it does not."""
    where = path()
    if where not in _read:
        _read[where] = _loaded(where)
    found = _read[where]
    if found is None:
        return None
    reason = stale(found, devices)
    if reason:
        log.warning_once(where, f"the calibration {where} is not used: {reason}; {_MORE}")
        return None
    return found


def forget_read() -> None:
    """Let the next compilation read the file again."""
    _read.clear()


def _loaded(where: str) -> Calibration | None:
    try:
        return read()
    except FileNotFoundError:
        return None
    except (DamagedError, Untrusted, OSError) as error:
        is_expected = isinstance(error, OSError) and error.errno in ABSENT
        if not is_expected:
            log.warning_once(where, f"the calibration {where} is not used: {error}; {_MORE}")
        return None


def processor_name() -> str:
    """The name of this machine's processors, looked up once."""
    if not _name:
        _name.append(processor()[0])
    return _name[0]


_name: list[str] = []


def stale(found: Calibration, devices: Sequence[IDevice]) -> str:
    """Why a calibration does not hold here, or ""."""
    if found.library != __version__:
        return f"it is of nnapi_shim {found.library}, this is {__version__}"
    if found.processor != processor_name():
        return f"it is of {found.processor!r}, this is {processor_name()!r}"
    if found.threads != count():
        return f"it is of runs with {found.threads} threads, here they have {count()}"
    for device in devices:
        measured = found.device(device.name)
        if measured is None:
            continue
        if measured.version != device.version:
            return f"it is of {device.name} {measured.version}, this is {device.version}"
        if measured.is_isolated != getattr(device, "is_isolated", False):
            return f"{device.name} was measured {'' if measured.is_isolated else 'not '}isolated"
    return ""


# The file


def read() -> Calibration:
    """The calibration in the file. Raises FileNotFoundError, OSError, Untrusted, DamagedError."""
    if is_privileged():
        raise FileNotFoundError(ENOENT, "a program with raised privileges reads none")
    with Folder(folder_of_user()) as folder:
        descriptor, length = folder.open(FILE)
        with open(descriptor, "rb", buffering=0) as file:
            if length > _MOST_BYTES:
                raise DamagedError(f"it has {length} bytes")
            data = file.read(length) or b""
    from json import loads

    try:
        return _calibration(loads(data))
    except (ValueError, RecursionError):  # no JSON, or no text
        raise DamagedError("it is no JSON") from None


def write(calibration: Calibration) -> None:
    """Replace the file, at once. Raises BAD_DATA if it cannot be written."""
    from json import dumps

    text = dumps(to_json(calibration), indent=1)
    try:
        with _made_folder() as folder:
            folder.write(FILE, f"{text}\n".encode())
    except (OSError, ValueError, Untrusted) as error:
        raise _not_writable(error) from None
    forget_read()


def require_writable() -> None:
    """Raise BAD_DATA if the file cannot be written; call it before the measurements."""
    try:
        with _made_folder() as folder:
            if not os.access(folder.path, os.W_OK):
                raise PermissionError("no file can be made there")
    except (OSError, ValueError, Untrusted) as error:
        raise _not_writable(error) from None


def remove() -> bool:
    """Remove the file; whether there was one. Raises BAD_DATA if it cannot be removed."""
    forget_read()
    try:
        os.unlink(path())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise bad_data(
            f"{path()} cannot be removed: {error.strerror or error}", "calibration.not-removed"
        ) from None
    return True


def _made_folder() -> Folder:
    os.makedirs(folder_of_user(), 0o700, exist_ok=True)
    return Folder(folder_of_user())


def _not_writable(error: Exception) -> Exception:
    reason = getattr(error, "strerror", None) or error
    return bad_data(f"{path()} cannot be written: {reason}", "calibration.not-writable")


def to_json(calibration: Calibration) -> dict[str, Any]:
    """A calibration as dictionaries, lists, strings and numbers."""
    devices = [each._asdict() for each in calibration.devices]
    return {"schema": SCHEMA, **calibration._asdict(), "devices": devices}


def _calibration(data: Any) -> Calibration:
    """What `to_json` gave. Raises DamagedError."""
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        schema = data.get("schema") if isinstance(data, dict) else None
        raise DamagedError(f"its schema is {schema!r}, not {SCHEMA}")
    devices = _field(data, "devices", list)
    found = Calibration(
        _field(data, "library", str),
        _field(data, "processor", str),
        _field(data, "threads", int),
        _field(data, "made", str),
        _number(data.get("step"), "step"),
        tuple([_device(each) for each in devices]),
        tuple([_change(each) for each in _field(data, "changes", list)]),
    )
    unit = found.device(UNIT)
    if unit is None or any("float32" not in unit.times.get(kind, {}) for kind in KINDS):
        raise DamagedError(f"times of {UNIT} are missing")
    return found


def _change(data: Any) -> Change:
    if not isinstance(data, list) or [*map(type, data[:-1])] != [str, str]:
        raise DamagedError("a change is not two devices and a time")
    one, other, seconds = data
    return Change(one, other, _number(seconds, "change"))


def _device(data: Any) -> MeasuredDevice:
    if not isinstance(data, dict):
        raise DamagedError("a device is no object")
    rates = _field(data, "handing_over", dict)
    times = _field(data, "times", dict)
    if not set(times) <= {*KINDS} or not set(rates) <= {*TYPES}:
        raise DamagedError("it has a kind of work or a type that does not exist")
    return MeasuredDevice(
        _field(data, "name", str),
        _field(data, "version", str),
        _field(data, "is_isolated", bool),
        _number(data.get("call"), "call"),
        {type: _number(rate, "handing_over") for type, rate in rates.items()},
        {kind: _points(by_type) for kind, by_type in times.items()},
    )


def _points(data: Any) -> dict[str, tuple[Point, Point]]:
    if not isinstance(data, dict) or not set(data) <= {*TYPES}:
        raise DamagedError("times are no object of types")
    result = {}
    for type, points in data.items():
        if not isinstance(points, list) or len(points) != 2:
            raise DamagedError(f"times of {type} are not two points")
        small, large = (_point(each) for each in points)
        if not 0 < small.amount < large.amount:
            raise DamagedError(f"the amounts of {type} are not in order")
        result[type] = small, large
    return result


def _point(data: Any) -> Point:
    if not isinstance(data, list) or len(data) != 2:
        raise DamagedError("a point is no pair of numbers")
    return Point(_number(data[0], "amount"), _number(data[1], "seconds"))


def _field(data: dict[str, Any], name: str, kind: type) -> Any:
    value = data.get(name)
    if type(value) is not kind:
        raise DamagedError(f"{name} is {value!r:.40}")
    return value


def _number(value: Any, name: str) -> float:
    if type(value) not in (int, float) or not 0 <= value < _LARGEST:
        raise DamagedError(f"{name} is {value!r:.40}")
    return float(value)
