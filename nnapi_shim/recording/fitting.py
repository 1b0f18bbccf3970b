"""Validates the types and ranges of values of a capture.

Each function returns the allowed values, for a message, if a value is invalid; "" if it is valid.
checking.py validates references to other calls.
"""

import re
from typing import Any

from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.recording.vocabulary import C_TYPES, RANGES, Parameter

HANDLE = re.compile(rf"({'|'.join(C_TYPES)}) ([1-9][0-9]{{0,16}})", re.ASCII)
_NUMBER = re.compile(r"0x[0-9a-f]{1,16}", re.ASCII)
_TOKEN = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LARGEST_FLOAT = float.fromhex("0x1.fffffep+127")
_OF_A_TYPE = {"type", "dimensionCount", "dimensions", "scale", "zeroPoint"}
_OTHER_FLOATS = ("nan", "inf", "-inf")

_A_HANDLE = 'a handle such as "model 1", a number in hexadecimal, or null'
_A_NUMBER = "a number in hexadecimal, or null"
_A_FLOAT = f"numbers up to {_LARGEST_FLOAT:g}, nan, inf and -inf"


def whole(value: Any, kind: str) -> str:
    """An integer of a C type."""
    smallest, largest = RANGES[kind]
    if type(value) is int and smallest <= value <= largest:
        return ""
    return f"whole numbers from {smallest} to {largest}"


def real(value: Any) -> str:
    """A float32, as decoding.real writes it."""
    if isinstance(value, str):
        return "" if value in _OTHER_FLOATS else _A_FLOAT
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # compared, not converted: an integer may be too large for a float
    return "" if is_number and -_LARGEST_FLOAT <= value <= _LARGEST_FLOAT else _A_FLOAT


def handle(value: Any) -> str:
    """A handle of an object; an invalid handle is a number."""
    is_one = value is None or (isinstance(value, str) and bool(HANDLE.fullmatch(value)))
    return "" if is_one or is_number(value) else _A_HANDLE


def is_number(value: Any) -> bool:
    """A number in hexadecimal."""
    return isinstance(value, str) and bool(_NUMBER.fullmatch(value))


def text(value: Any) -> str:
    """A C string: it contains no NUL."""
    if value is None:
        return ""
    if isinstance(value, str) and "\0" not in value:
        try:
            value.encode(errors="surrogateescape")
        except UnicodeEncodeError:
            return "texts of characters that UTF-8 has"
        return ""
    return "a text without zeros, or null"


def argument(parameter: Parameter, value: Any, counts: dict[str, Any]) -> str:
    """An argument of a call, except contents (arrays.py). counts: all arguments."""
    kind = parameter.kind
    if kind == "int" and parameter.name == "type" and isinstance(value, str):
        return "" if value in OperationType.__members__ else "names and numbers of operations"
    if kind in ("int", "fd"):
        return whole(value, parameter.of or "int")
    if kind == "float":
        return real(value)
    if kind == "handle":
        return handle(value)
    if kind in ("made", "out", "outs", "text"):
        return "" if value in (None, "set") else '"set" or null'
    if kind in ("buffer", "foreign"):
        return "" if value is None or is_number(value) else _A_NUMBER
    if kind == "string":
        return text(value)
    if kind == "token":
        is_token = value is None or (isinstance(value, str) and _TOKEN.fullmatch(value))
        return "" if is_token else "64 hexadecimal digits, or null"
    if kind == "type":
        return "" if value is None else _operand_type(value)
    if kind == "scales":
        return "" if value is None else _scales(value)
    assert kind in ("numbers", "handles")
    return "" if value is None else _list(parameter, value, counts[parameter.of])


def _list(parameter: Parameter, value: Any, count: Any) -> str:
    """A list as long as its count argument; or the count alone, if the list was unreadable."""
    if isinstance(value, dict):
        is_count = type(value.get("count")) is int and value["count"] == count
        return "" if is_count else f"the count that {parameter.of} is"
    if not isinstance(value, list) or len(value) != count:
        return f"a list of as many as {parameter.of} says"
    for item in value:
        allowed = whole(item, "uint32_t") if parameter.kind == "numbers" else handle(item)
        if allowed:
            return f"a list of {allowed}"
    return ""


def sizes(value: Any, most: int) -> str:
    """Dimensions."""
    if not isinstance(value, list) or len(value) > most:
        return f"a list of up to {most} dimensions"
    allowed = (whole(item, "uint32_t") for item in value)
    return next((f"a list of {said}" for said in allowed if said), "")


def _is_at(value: Any) -> bool:
    """Whether a value stands for unreadable memory."""
    return isinstance(value, dict) and "at" in value and is_number(value["at"])


def _operand_type(value: Any) -> str:
    if _is_at(value):
        return ""
    if not isinstance(value, dict) or not value.keys() >= _OF_A_TYPE:
        return f"an operand type with {', '.join(sorted(_OF_A_TYPE))}, or null"
    code, count, dimensions = value["type"], value["dimensionCount"], value["dimensions"]
    if isinstance(code, str):
        if code not in OperandType.__members__:
            return "an operand type whose type has a name or a number"
    elif said := whole(code, "int32_t"):
        return f"an operand type whose type is of {said}"
    if said := whole(count, "uint32_t"):
        return f"an operand type whose dimensionCount is of {said}"
    if dimensions is not None and (said := sizes(dimensions, count) or _same(dimensions, count)):
        return f"an operand type whose dimensions are {said}, or null"
    if said := real(value["scale"]):
        return f"an operand type whose scale is of {said}"
    if said := whole(value["zeroPoint"], "int32_t"):
        return f"an operand type whose zeroPoint is of {said}"
    return ""


def _same(dimensions: list[Any], count: int) -> str:
    return "" if len(dimensions) == count else f"a list of {count} dimensions"


def _scales(value: Any) -> str:
    if _is_at(value):
        return ""
    if not isinstance(value, dict) or "scales" not in value:
        return "a channelDim and scales, or null"
    if said := whole(value.get("channelDim"), "uint32_t"):
        return f"a channelDim of {said}"
    numbers = value["scales"]
    if numbers is None:
        return ""
    if not isinstance(numbers, list):
        return "scales that are a list, or null"
    return next((f"scales of {said}" for said in map(real, numbers) if said), "")


def result(parameter: Parameter, value: Any, most: int) -> str:
    """An output variable after a call. most: maximum number of elements of an array."""
    kind = parameter.kind
    if kind == "made":
        return handle(value)
    if kind == "text":
        return text(value)
    if kind == "out":
        return whole(value, parameter.of)
    assert kind == "outs"
    if not isinstance(value, list) or len(value) > most:
        return f"a list of up to {most} numbers"
    said = (whole(item, parameter.of) for item in value)
    return next((f"a list of {allowed}" for allowed in said if allowed), "")
