"""Which devices exist, in their order."""

import re

from nnapi_shim.drivers import built_in_devices
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.settings import ENABLED_DEVICES

_devices: dict[str, list[IDevice]] = {}


def devices() -> list[IDevice]:
    """The devices of this process: nnapi-cpu first, nnapi-reference last, less what
    DEBUG_NN_ENABLED_DEVICES leaves out. The list never changes.
    """
    found = _devices.get("all")
    if found is None:
        found = _devices.setdefault("all", _enabled())  # one list, whoever comes first
    return found


def _enabled() -> list[IDevice]:
    pattern = ENABLED_DEVICES.get()
    try:
        matches = re.compile(pattern).fullmatch if pattern else lambda name: True
    except re.error as error:
        raise NnapiError(
            ResultCode.BAD_DATA,
            f"{ENABLED_DEVICES.name} is {pattern!r}, not a regular expression: {error}",
        ) from None
    return [load() for name, load in built_in_devices() if matches(name)]
