"""C structs and arrays as Python values, and results into the caller's variables.

Pointers arrive as integers. Nothing else touches the ffi of the C API.
"""

from typing import Any

from nnapi_shim.address import read
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.runtime.argument import ArgumentType

ffi: Any = None
"""The ffi of the C API; set when the library attaches."""

cast: Any = None


def use(the_ffi: Any) -> None:
    """Take the ffi that knows the C declarations."""
    global ffi, cast
    ffi, cast = the_ffi, the_ffi.cast


def not_null(**pointers: int) -> None:
    """Raise UNEXPECTED_NULL naming the pointers that are NULL."""
    missing = [name for name, pointer in pointers.items() if not pointer]
    if missing:
        raise NnapiError(ResultCode.UNEXPECTED_NULL, f"{' and '.join(missing)} NULL")


def not_null_with_length(pointer: int, length: int, name: str) -> None:
    """Raise UNEXPECTED_NULL for a NULL buffer with a length."""
    if not pointer and length:
        raise NnapiError(ResultCode.UNEXPECTED_NULL, f"{name} is NULL and its length {length}")


def data_at(pointer: int, length: int) -> bytes | None:
    """The bytes of a buffer, None for (NULL, 0); UNEXPECTED_NULL for a NULL with a length."""
    not_null_with_length(pointer, length, "data")
    return read(pointer, length) if pointer else None


def store_handle(target: int, handle: int) -> None:
    """Write a handle (0 for NULL) to a pointer variable."""
    cast("uintptr_t *", target)[0] = handle


def store(kind: str, target: int, value: Any) -> None:
    """Write a number to a variable: `store("uint32_t *", count, 2)`."""
    cast(kind, target)[0] = value


def uint32s(array: int, count: int) -> list[int]:
    """`count` numbers of a uint32_t array."""
    return ffi.unpack(cast("uint32_t *", array), count)


def pointers(array: int, count: int) -> list[int]:
    """`count` pointers of an array, as integers."""
    return ffi.unpack(cast("uintptr_t *", array), count)


def string(pointer: int) -> str:
    """A zero-terminated string; bytes that are no UTF-8 survive as surrogates."""
    return ffi.string(cast("char *", pointer)).decode(errors="surrogateescape")


def constant_string(text: str) -> Any:
    """A string that C may keep a pointer to, as long as the result is kept here."""
    return ffi.new("char[]", text.encode())


def pointer_of(data: Any) -> int:
    """Address of C data."""
    return int(cast("uintptr_t", data))


def operand_type(pointer: int) -> tuple[int, list[int] | None, int, float, int]:
    """ANeuralNetworksOperandType: code, dimensions or None, dimensionCount, scale, zeroPoint."""
    it = cast("ANeuralNetworksOperandType *", pointer)
    count = it.dimensionCount
    dimensions = ffi.unpack(it.dimensions, count) if it.dimensions else None
    return it.type, dimensions, count, it.scale, it.zeroPoint


def argument_type(pointer: int) -> Any:
    """What reads the optional operand type of an argument when it is its turn to be checked."""
    if not pointer:
        return None
    return lambda: ArgumentType(*operand_type(pointer))


def channel_quant(pointer: int) -> tuple[int, list[float] | None]:
    """ANeuralNetworksSymmPerChannelQuantParams: channelDim, scales (None: NULL with a count)."""
    it = cast("ANeuralNetworksSymmPerChannelQuantParams *", pointer)
    if not it.scales:
        return it.channelDim, None if it.scaleCount else []
    return it.channelDim, ffi.unpack(it.scales, it.scaleCount)
