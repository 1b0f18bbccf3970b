"""Contents of the calls of a capture, stored in their lines or as members of the archive."""

import re
from collections.abc import Mapping
from math import prod
from typing import Any

from nnapi_shim.recording import container

ITEM_BYTES = {
    "<f4": 4,
    "<f2": 2,
    "<i4": 4,
    "<u4": 4,
    "<i2": 2,
    "<u2": 2,
    "|i1": 1,
    "|u1": 1,
    "|b1": 1,
}
"""The fields of contents."""

MOST_DIMENSIONS = 1024
_LARGEST_DIMENSION = 1 << 40
_NAME = re.compile(r"arrays/[0-9a-f]{1,128}\.npy", re.ASCII)
_DIGITS = re.compile(r"[0-9a-f]*", re.ASCII)

Members = Mapping[str, memoryview | bytes]


def flaw(said: Any, members: Members) -> str:
    """The allowed contents, for a message, if contents are invalid; "" if they are valid."""
    if not isinstance(said, dict):
        return "contents"
    dtype, shape = said.get("dtype"), said.get("shape")
    if not isinstance(dtype, str) or dtype not in ITEM_BYTES:
        return f"contents whose dtype is one of {', '.join(ITEM_BYTES)}"
    if not isinstance(shape, list) or len(shape) > MOST_DIMENSIONS or not all(map(_is_size, shape)):
        return f"contents whose shape has up to {MOST_DIMENSIONS} sizes"
    length = prod(shape) * ITEM_BYTES[dtype]
    digits, name = said.get("hex"), said.get("array")
    if isinstance(digits, str) and name is None:
        if _DIGITS.fullmatch(digits) and len(digits) == 2 * length:
            return ""
        return f"contents of {_many(2 * length)} hexadecimal digits, as their shape says"
    if digits is not None or not isinstance(name, str) or not _NAME.fullmatch(name):
        return "contents in hex, or in an array that the capture has"
    member = members.get(name)
    if member is None:
        return f"contents in an array that the capture has; {name} is missing"
    head, _ = container.npy(dtype, shape, b"")
    if len(member) != len(head) + length or bytes(member[: len(head)]) != head:
        return f"contents as they are in {name}, which has another type, shape or length"
    return ""


def data_of(said: dict[str, Any], members: Members) -> bytes:
    """The bytes of valid contents."""
    if "hex" in said and said["hex"] is not None:
        return bytes.fromhex(said["hex"])
    head, _ = container.npy(said["dtype"], said["shape"], b"")
    return bytes(members[said["array"]][len(head) :])


def length_of(said: dict[str, Any]) -> int:
    """The size of contents in bytes."""
    sizes: list[int] = said["shape"]
    return prod(sizes) * ITEM_BYTES[said["dtype"]]


def _is_size(size: Any) -> bool:
    return type(size) is int and 0 <= size < _LARGEST_DIMENSION


def _many(count: int) -> str:
    return str(count) if count < 1 << 64 else "more than 2^64"
