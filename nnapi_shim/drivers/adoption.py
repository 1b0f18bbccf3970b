"""Validation of third-party devices, and their wrapping in the canonical interface."""

from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import DeviceType, FeatureLevel
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hints import Any, Callable, NamedTuple

METHODS = {
    "1.0": ("getCapabilities", "getSupportedOperations", "prepareModel", "getStatus"),
    "1.1": (
        "getCapabilities_1_1",
        "getSupportedOperations_1_1",
        "prepareModel_1_1",
        "getStatus",
    ),
    "canonical": ("getCapabilities", "getSupportedOperations", "prepareModel", "wait"),
}
"""Interface -> the methods that the library calls."""


ENGINE, MANIFEST, ENTRY_POINT = "engine", "manifest", "entry point"
"""Kinds of sources."""


class Found(NamedTuple):
    """A device that is not loaded yet: its name, its origin, and its loader.

    module: the module to import. load: creates the device; raises NnapiError if that fails.
    source: where another process finds it (drivers/isolated/sources.py); empty for a device that
    this process alone has. is_isolated: whether it is to run in a process of its own, by its
    manifest, or does so.
    """

    name: str
    origin: str
    module: str
    load: Callable[[], IDevice]
    source: tuple[str, ...] = ()
    is_isolated: bool = False


def require_name(name: Any) -> str:
    """A valid device name: one line of printable text. Raises BAD_DATA for others."""
    if not isinstance(name, str) or not name or not name.isprintable() or name != name.strip():
        raise bad_data(f"name is {name!r}; it must be one line of text", "driver.name")
    return name


def device_type(value: Any) -> DeviceType:
    """A DeviceType from a member, number or name, such as "ACCELERATOR". Raises BAD_DATA."""
    for member in DeviceType:
        if value in (member.name, int(member)) and not isinstance(value, bool):
            return member
    names = ", ".join(member.name for member in DeviceType)
    raise bad_data(f"type is {value!r}; allowed are {names}", "driver.type")


def interface_of(driver: Any) -> str:
    """The interface that a driver's methods implement: "canonical", "1.1" or "1.0".

    Raises BAD_DATA if it implements none completely.
    """
    for hal in ("canonical", "1.1", "1.0"):
        if not _missing(driver, hal):
            return hal
    lacking = {hal: ", ".join(_missing(driver, hal)) for hal in METHODS}
    raise bad_data(
        f"{type(driver).__name__} is no device; it lacks "
        + ", or ".join(f"{names} for {hal}" for hal, names in lacking.items()),
        "driver.no-interface",
    )


def _missing(driver: Any, hal: str) -> list[str]:
    return [name for name in METHODS[hal] if not callable(getattr(driver, name, None))]


def adopted(
    driver: Any, name: str, hal: str | None = None, version: Any = None, type: Any = None
) -> IDevice:
    """A driver wrapped as a device of this name.

    hal: its interface; None: determined by its methods. version, type: None: the driver's
    attributes. Raises BAD_DATA if they are invalid or inconsistent.
    """
    hal = hal or interface_of(driver)
    missing = _missing(driver, hal)
    if missing:
        raise bad_data(
            f"{driver.__class__.__name__} is no device for HAL {hal}; "
            f"it lacks {', '.join(missing)}",
            "driver.missing-methods",
        )
    own_version = getattr(driver, "version", None)
    own_type = getattr(driver, "type", None)
    chosen_version = own_version if version is None else version
    if not isinstance(chosen_version, str) or not chosen_version.isprintable():
        raise bad_data(
            f"version is {chosen_version!r}; it must be one line of text", "driver.version"
        )
    chosen_type = device_type(own_type if type is None else type)
    if hal == "canonical":
        own_name = getattr(driver, "name", None)
        expected = (name, chosen_version, chosen_type)
        if (own_name, own_version, own_type) != expected:
            raise bad_data(
                f"the device calls itself {own_name!r}, version {own_version!r}, type {own_type!r};"
                f" it is to be {name!r}, {chosen_version!r}, {chosen_type.name}",
                "driver.identity",
            )
        level = getattr(driver, "feature_level", None)
        if level not in tuple(FeatureLevel):
            raise bad_data(
                f"feature_level is {level!r}; it must be a FeatureLevel", "driver.feature-level"
            )
        from nnapi_shim.drivers.guarded import GuardedDevice

        return GuardedDevice(driver)
    from nnapi_shim.drivers.versioned.adapter import VersionedDevice

    return VersionedDevice(driver, hal, name, chosen_version, chosen_type)


def made(maker: Any, what: str, **known: Any) -> IDevice:
    """The device from a class, a function without arguments, or a driver object.

    what: name for messages. known: arguments of `adopted`. Exceptions of the maker become
    NnapiError.
    """
    from nnapi_shim.drivers.versioned.answer import guarded

    driver = guarded(what, maker) if callable(maker) else maker
    return adopted(driver, **known)
