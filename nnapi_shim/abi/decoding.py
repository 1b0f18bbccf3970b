"""Converts arguments and results of calls to JSON values, for captures and traces."""

from math import isfinite

from nnapi_shim.abi import cdata
from nnapi_shim.address import is_readable, read, words
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.handles import HandleTable, kind_of
from nnapi_shim.hints import Any, Sequence
from nnapi_shim.recording.vocabulary import Parameter

_POINTER_BYTES = 8
_MOST_NUMBERS = 1 << 24
"""Maximum number of recorded elements; of a longer list only the length is recorded."""

_GIVEN_BACK = ("made", "out", "text", "outs")
"""Kinds of parameters that point to variables for results."""

_OPERAND_TYPE_BYTES = 32
_CHANNEL_QUANT_BYTES = 16


def handle(number: int) -> Any:
    """A handle such as `model 1`; None for NULL; hexadecimal for an invalid handle."""
    if not number:
        return None
    table, serial = kind_of(number)
    return f"{table.kind} {serial}" if isinstance(table, HandleTable) else hex(number)


def argument(parameter: Parameter, value: Any, values: dict[str, Any]) -> Any:
    """The value of an argument before the call; the caller records contents of `bytes`.

    values: all arguments of the call, by name.
    """
    kind = parameter.kind
    if kind == "handle":
        return handle(value)
    if kind in ("int", "float", "fd"):
        return real(value) if isinstance(value, float) else int(value)
    if kind in ("buffer", "foreign"):
        return hex(value) if value else None
    if kind in _GIVEN_BACK:
        return "set" if value else None
    if not value:
        return None
    if kind == "string":
        return cdata.string(value) if is_readable(value, 1) else hex(value)
    if kind == "type":
        return operand_type(value)
    if kind == "scales":
        return _scales(value)
    if kind == "numbers":
        return _numbers(value, "uint32_t", values[parameter.of])
    if kind == "handles":
        numbers = _numbers(value, "uintptr_t", values[parameter.of])
        return numbers if isinstance(numbers, dict) else [handle(item) for item in numbers]
    return None


def real(value: float) -> float | str:
    """A float as a JSON number, or as a name (nan, inf)."""
    return value if isfinite(value) else str(value)


def operand_type(pointer: int) -> Any:
    """An ANeuralNetworksOperandType."""
    if not is_readable(pointer, _OPERAND_TYPE_BYTES):
        return {"at": hex(pointer)}
    code, dimensions, count, scale, zero_point = cdata.operand_type(pointer)
    try:
        sizes = None if dimensions is None else [*dimensions]
    except NnapiError:  # the count exceeds readable memory
        sizes = None
    return {
        "type": code_name(OperandType, code),
        "dimensionCount": count,
        "dimensions": sizes,
        "scale": real(scale),
        "zeroPoint": zero_point,
    }


def code_name(kind: type[OperandType] | type[OperationType], code: int) -> str | int:
    """The name of a code, such as TENSOR_FLOAT32; the number if it has none."""
    try:
        return kind(code).name
    except ValueError:
        return int(code)


def _scales(pointer: int) -> Any:
    if not is_readable(pointer, _CHANNEL_QUANT_BYTES):
        return {"at": hex(pointer)}
    dim, scales = cdata.channel_quant(pointer)
    try:
        return {
            "channelDim": dim,
            "scales": None if scales is None else [real(scale) for scale in scales],
        }
    except NnapiError:
        return {"channelDim": dim, "scales": None}


def _numbers(pointer: int, kind: str, count: int) -> Any:
    size = _POINTER_BYTES if kind == "uintptr_t" else 4
    if count > _MOST_NUMBERS or not is_readable(pointer, count * size):
        return {"count": count}
    return words(pointer, kind, count)


def results(
    parameters: Sequence[Parameter], values: dict[str, Any], counts: dict[str, int]
) -> dict[str, Any]:
    """The values of output variables after a call. counts: elements of arrays."""
    values_read: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind not in _GIVEN_BACK:
            continue
        where = values[parameter.name]
        if not where or not is_readable(where, 1):
            continue
        if parameter.kind == "made":
            values_read[parameter.name] = handle(words(where, "uintptr_t", 1)[0])
        elif parameter.kind == "out":
            values_read[parameter.name] = int(words(where, parameter.of, 1)[0])
        elif parameter.kind == "text":
            (text,) = words(where, "uintptr_t", 1)
            values_read[parameter.name] = cdata.string(text) if text else None
        elif parameter.kind == "outs":
            items = words(where, parameter.of, counts.get(parameter.name, 0))
            values_read[parameter.name] = [int(item) for item in items]
    return values_read


def contents(pointer: int, length: int) -> bytes | None:
    """The bytes at an address; None for NULL, or if the first or last byte is not readable."""
    if not pointer or not length:
        return b"" if pointer else None
    if not is_readable(pointer, 1) or not is_readable(pointer + length - 1, 1):
        return None
    return read(pointer, length)
