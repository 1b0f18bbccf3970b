"""Extensions: the prefix of each name (the upper 16 bits of its types), and device support."""

from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hal.quantization import ELEMENT_BYTES, SCALARS
from nnapi_shim.hal.types import Extension, ExtensionAttribute, ExtensionType
from nnapi_shim.hints import cast

_prefixes: dict[str, int] = {}
_described: dict[int, ExtensionType] = {}
_LAST_PREFIX = 0xFFFF

Attributes = dict[tuple[str, int], bytes]
"""(extension, code) -> data."""


def prefixed(name: str, code: int) -> int:
    """The type of `code` within the extension `name`, as an int32; any name gets a prefix."""
    prefix = _prefixes.get(name)
    if prefix is None:
        if len(_prefixes) >= _LAST_PREFIX:
            raise bad_data(
                f"{name} is one extension too many; there are {_LAST_PREFIX} prefixes",
                "extension.too-many",
            )
        prefix = _prefixes.setdefault(name, len(_prefixes) + 1)
    value = prefix << 16 | code
    return value - (1 << 32) if value >= 1 << 31 else value


def prefixes() -> tuple[tuple[str, int], ...]:
    """All names in use, with their prefixes."""
    return tuple(_prefixes.items())


def require_known_prefix(code: int) -> None:
    """Raise BAD_DATA for a code with an unassigned prefix."""
    prefix = (code >> 16) & 0xFFFF
    if prefix > len(_prefixes):
        raise bad_data(
            f"type {code:#x} has extension prefix {prefix}, which names no extension",
            "extension.prefix",
        )


def extensions_of(device: IDevice) -> tuple[Extension, ...]:
    """The extensions of a device; most have none."""
    get = getattr(device, "getSupportedExtensions", None)
    return () if get is None else tuple(get())


def is_supported(device: IDevice, name: str) -> bool:
    """Whether a device supports an extension."""
    return any(extension.name == name for extension in extensions_of(device))


def operand_type(code: int) -> OperandType:
    """The operand type with this code. Raises BAD_DATA if no device describes it.

    It is an ExtensionType, which is used like an OperandType.
    """
    known = _described.get(code)
    if known is None:
        require_known_prefix(code)
        prefix, within = (code >> 16) & 0xFFFF, code & 0xFFFF
        name = next(name for name, number in _prefixes.items() if number == prefix)
        known = _described[code] = _describe(code, name, within)
    return cast(OperandType, known)


def _describe(code: int, name: str, within: int) -> ExtensionType:
    from nnapi_shim.runtime.device_manager import devices

    for device in devices():
        for extension in extensions_of(device):
            for known in extension.operand_types if extension.name == name else ():
                if known.type == within:
                    type = ExtensionType(code)
                    type.name = f"{name} type {within}"
                    ELEMENT_BYTES[type] = known.byte_size
                    if not known.is_tensor:
                        SCALARS.add(type)
                    return type
    raise bad_data(
        f"operand type {code:#x} (type {within} of {name}) is described by no device",
        "extension.operand-type",
    )


def add_attribute(attributes: Attributes, name: str, code: int, data: bytes | None) -> None:
    """Keep an attribute of an extension; raises BAD_DATA for one that is there already."""
    if (name, code) in attributes:
        raise bad_data(f"attribute {name} {code} is set already", "extension.attribute-twice")
    attributes[name, code] = data_of(data) or b""


def listed(attributes: Attributes) -> tuple[ExtensionAttribute, ...]:
    """Attributes in the form that devices receive."""
    return tuple([ExtensionAttribute(*key, data) for key, data in attributes.items()])


def data_of(data: bytes | None) -> bytes | None:
    """The passed data; None if omitted; raises BAD_DATA for an empty buffer."""
    if data == b"":
        raise bad_data("data is a buffer of 0 bytes; (NULL, 0) means none", "extension.data-empty")
    return data
