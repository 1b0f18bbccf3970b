"""Calibrations for tests, of times that nobody measured."""

from collections.abc import Mapping, Sequence
from typing import Any

from nnapi_shim.drivers.cpu.program.threads import count
from nnapi_shim.runtime import calibration as file
from nnapi_shim.runtime.calibration import Calibration, MeasuredDevice, Point
from nnapi_shim.runtime.work_kinds import KINDS, TYPES
from nnapi_shim.version import __version__


def measured(
    name: str,
    speed: float = 1.0,
    kinds: Mapping[str, float] | None = None,
    *,
    call: float = 1e-6,
    rate: float = 1e-9,
    version: str = "test",
    types: Sequence[str] = TYPES,
) -> MeasuredDevice:
    """A device that needs 1 us / speed for 1000 units of any work, and nothing beside that.

    kinds: kind of work -> another speed. rate: seconds to hand a byte over.
    """
    speeds = dict.fromkeys(KINDS, speed) | dict(kinds or {})
    times = {
        kind: dict.fromkeys(types, (Point(1e3, 1e-6 / each), Point(1e6, 1e-3 / each)))
        for kind, each in speeds.items()
    }
    return MeasuredDevice(name, version, False, call, dict.fromkeys(types, rate), times)


def calibration(*devices: MeasuredDevice, step: float = 0.0, **others: Any) -> Calibration:
    """A calibration of this machine; nnapi-cpu is added unless it is among the devices."""
    if all(device.name != file.UNIT for device in devices):
        devices = (*devices, measured(file.UNIT, version=__version__))
    made = Calibration(__version__, file.processor_name(), count(), "now", step, devices, ())
    return made._replace(**others)


def keep(*devices: MeasuredDevice, **others: Any) -> Calibration:
    """Write a calibration to the folder of tests."""
    made = calibration(*devices, **others)
    file.write(made)
    return made
