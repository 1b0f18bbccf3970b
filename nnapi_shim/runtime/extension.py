"""Extension names and their prefixes: the upper 16 bits of extension types and operations."""

from nnapi_shim.errors import bad_data

_prefixes: dict[str, int] = {}


def prefixed(name: str, code: int) -> int:
    """The type of `code` within the extension `name`, as an int32; any name gets a prefix."""
    prefix = _prefixes.setdefault(name, len(_prefixes) + 1)
    value = prefix << 16 | code
    return value - (1 << 32) if value >= 1 << 31 else value


def require_known_prefix(code: int) -> None:
    """Raise BAD_DATA for a code whose prefix was not handed out."""
    prefix = (code >> 16) & 0xFFFF
    if prefix > len(_prefixes):
        raise bad_data(f"type {code:#x} has extension prefix {prefix}, which names no extension")
