"""The list of devices, in order of priority."""

import os
from _thread import get_ident

from nnapi_shim import log, process, vlog
from nnapi_shim.drivers import built_in_devices, found_devices, is_built_in
from nnapi_shim.drivers.adoption import Found, adopted, require_name
from nnapi_shim.errors import NnapiError, bad_data, bad_state
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hints import Any, Callable
from nnapi_shim.settings import CPU_ONLY, ENABLED_DEVICES, FAULTS, PROFILE

_devices: dict[str, list[IDevice]] = {}
_registered: dict[str, Found] = {}
_lock = process.lock()
_owner: set[int] = set()
"""The thread that holds the lock, and its helper threads that load drivers."""


os.register_at_fork(after_in_child=_owner.clear)


def devices() -> list[IDevice]:
    """The devices of this process, filtered by DEBUG_NN_ENABLED_DEVICES: registered ones, those of
    manifests, those of installed packages, nnapi-cpu, nnapi-reference.

    The list never changes. Raises BAD_STATE if a driver calls it while it is being loaded.
    """
    listed = _devices.get("all")
    if listed is None:
        with _exclusive():
            listed = _devices.get("all")
            if listed is None:
                listed = _devices["all"] = _enabled()
    return listed


def are_listed() -> bool:
    """Whether the devices have been listed, after which they do not change."""
    return "all" in _devices


class _exclusive:  # noqa: N801 - reads as a statement
    """Holds the lock; raises BAD_STATE, without deadlock, in a thread that holds it already."""

    def __enter__(self) -> None:
        if get_ident() in _owner:
            raise bad_state(
                "the list of devices is being made; a driver cannot use it yet", "driver.too-early"
            )
        _lock.acquire()
        _owner.add(get_ident())

    def __exit__(self, *_: object) -> None:
        _owner.clear()
        _lock.release()


class _helping:  # noqa: N801 - reads as a statement
    """Marks a thread that loads a driver for the owner of the lock; `_exclusive` refuses it.

    The mark ends with the thread, as thread ids are reused.
    """

    def __enter__(self) -> None:
        self._mine = get_ident()
        _owner.add(self._mine)

    def __exit__(self, *_: object) -> None:
        _owner.discard(self._mine)


def register_driver(
    name: str, driver: Any, *, version: str | None = None, type: Any = None
) -> None:
    """List a device of this name, before all others.

    driver: written against hal.v1_0.IDevice, hal.v1_1.IDevice or hal.interfaces.IDevice.
    version, type: as reported to programs; None: the attributes of the driver.

    Raises BAD_DATA for an invalid device or a name in use; BAD_STATE after the devices have been
    listed.
    """
    from nnapi_shim.drivers.versioned.answer import guarded

    device = guarded(name, lambda: adopted(driver, require_name(name), None, version, type))
    with _exclusive():
        if "all" in _devices:
            raise bad_state(
                f"{name} comes too late: the devices have been listed already",
                "driver.register.too-late",
            )
        if name in _registered or is_built_in(name):
            raise bad_data(f"there is a device {name} already", "driver.register.name-taken")
        _registered[name] = Found(name, "register_driver", "nothing", lambda: device)


def _candidates() -> tuple[list[Found], list[Found]]:
    """All devices that there are: of others, and of this library or the phone profile."""
    others = [*_registered.values()]
    if PROFILE.get():
        from nnapi_shim.phones.current import devices as of_profile

        built_in = of_profile()
    else:
        others += found_devices()
        built_in = built_in_devices()
    if FAULTS.get() or PROFILE.get():
        from nnapi_shim.phones.fault_injector import is_asked_for

        if is_asked_for():
            others, built_in = _with_faults(others), _with_faults(built_in)
    return others, built_in


def _with_faults(devices: list[Found]) -> list[Found]:
    """Devices with the faults of the setting and the profile; raises BAD_DATA for invalid rules."""
    from nnapi_shim.phones.fault_device import faulty
    from nnapi_shim.phones.fault_injector import injector
    from nnapi_shim.recording.at_exit import at_exit

    made = injector()
    made.end_with(at_exit)
    if not any(rule.place for rule in made.rules.rules):
        return devices
    return [faulty(entry, made) for entry in devices]


def _enabled() -> list[IDevice]:
    matches = _matching(ENABLED_DEVICES.get())
    others, built_in = _candidates()
    if CPU_ONLY.get() == "1":
        return [entry.load() for entry in built_in[-1:] if matches(entry.name)]
    taken = {entry.name for entry in built_in}
    listed: dict[str, IDevice] = {}
    for entry in others:
        if not matches(entry.name):
            continue
        if entry.name in listed or entry.name in taken or is_built_in(entry.name):
            log.error(
                f"{entry.origin}: there is a device {entry.name} already; this one is left out"
            )
            continue
        try:
            listed[entry.name] = _loaded(entry)
        except NnapiError as error:
            log.error(f"{entry.origin}: {entry.name} is left out: {error.message}")
    own = [entry.load() for entry in built_in if matches(entry.name)]
    if vlog.enabled("manager"):
        described = [
            f"{d.name} {d.version}, level {d.feature_level}" for d in (*listed.values(), *own)
        ]
        vlog.write("manager", f"devices: {'; '.join(described) or 'none'}")
    return [*listed.values(), *own]


def _loaded(entry: Found) -> IDevice:
    """Load a third-party device. Raises NnapiError."""
    if entry.name in _registered or entry.is_isolated:
        return entry.load()
    from nnapi_shim.drivers.loading import loaded

    return loaded(entry, _helping())


def _matching(pattern: str) -> Callable[[str], Any]:
    """A predicate for names that match the setting; BAD_DATA for an invalid expression."""
    if not pattern:
        return lambda name: True
    if pattern.replace("-", "").isalnum():  # a plain name: avoids importing `re`
        return lambda name: name == pattern
    import re

    try:
        return re.compile(pattern).fullmatch
    except re.error as error:
        raise bad_data(
            f"{ENABLED_DEVICES.name} is {pattern!r}, not a regular expression: {error}",
            "device.enabled-devices",
        ) from None


def left_out() -> dict[str, str]:
    """The devices that are not listed: name -> reason."""
    listed = {device.name for device in devices()}
    others, built_in = _candidates()
    names = [entry.name for entry in (*others, *built_in)]
    pattern = ENABLED_DEVICES.get()
    matches = _matching(pattern)
    reasons: dict[str, str] = {}
    for name in names:
        if name in listed:
            continue
        if CPU_ONLY.get() == "1":
            reasons[name] = f"{CPU_ONLY.name} is 1"
        elif not matches(name):
            reasons[name] = f"{ENABLED_DEVICES.name} is {pattern!r}"
        else:
            reasons[name] = "it could not be loaded"
    return reasons
