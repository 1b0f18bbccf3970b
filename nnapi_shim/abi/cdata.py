"""Reads C structs and arrays as Python values, and writes results to variables of the caller.

Pointers are integers. Only this module uses the ffi of the C API.
"""

from struct import Struct

from nnapi_shim.address import PAGE_BYTES, goes_on, is_readable, read
from nnapi_shim.errors import bad_data, unexpected_null
from nnapi_shim.hints import Any, Iterator, Sequence
from nnapi_shim.runtime.operand_type import checked_type

ffi: Any = None
"""The ffi of the C API; set when the library attaches."""

cast: Any = None


def use(the_ffi: Any) -> None:
    """Set the ffi with the C declarations."""
    global ffi, cast
    ffi, cast = the_ffi, the_ffi.cast


def not_null(**pointers: int) -> None:
    """Raise UNEXPECTED_NULL naming the pointers that are NULL."""
    missing = [name for name, pointer in pointers.items() if not pointer]
    if missing:
        raise unexpected_null(
            f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} NULL; "
            "NULL is not allowed here",
            "argument.null",
        )


def not_null_with_length(pointer: int, length: int, name: str) -> None:
    """Raise UNEXPECTED_NULL for a NULL buffer with a length."""
    if not pointer and length:
        raise unexpected_null(
            f"{name} is NULL and its length {length}", "argument.null-with-length"
        )


def data_at(pointer: int, length: int) -> bytes | None:
    """The bytes of a buffer, None for (NULL, 0); UNEXPECTED_NULL for a NULL with a length.

    BAD_DATA if the length exceeds readable memory.
    """
    not_null_with_length(pointer, length, "data")
    if not pointer:
        return None
    if not goes_on(pointer, length):
        raise bad_data(
            f"the length of data is {length} bytes; the memory there is shorter",
            "argument.data-too-short",
        )
    return read(pointer, length)


def store_handle(target: int, handle: int) -> None:
    """Write a handle (0 for NULL) to a pointer variable."""
    cast("uintptr_t *", target)[0] = handle


def handle_at(source: int) -> int:
    """The handle in a pointer variable."""
    return int(cast("uintptr_t *", source)[0])


def store(kind: str, target: int, value: Any) -> None:
    """Write a number to a variable: `store("uint32_t *", count, 2)`."""
    cast(kind, target)[0] = value


class Array:
    """An array of the program that extends over several pages.

    The count is not trusted: nothing is allocated for it. Iteration reads page by page, and raises
    BAD_DATA before an unmapped page.
    """

    def __init__(self, pointer_type: str, size: int, array: int, count: int) -> None:
        self._type = pointer_type
        self._size = size
        self._array = array
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        at = 0
        while at < self._count:
            where = self._array + at * self._size
            here = min(max((PAGE_BYTES - where % PAGE_BYTES) // self._size, 1), self._count - at)
            if at and not is_readable(where, self._size):
                raise bad_data(
                    f"the count of a list is {self._count}; the memory there has {at} elements",
                    "argument.list-too-short",
                )
            yield from ffi.unpack(cast(self._type, where), here)
            at += here


def _numbers(pointer_type: str, size: int, array: int, count: int) -> Any:
    """`count` numbers of an array, read at once if they are within one page."""
    if array % PAGE_BYTES + count * size <= PAGE_BYTES:
        return ffi.unpack(cast(pointer_type, array), count) if count else ()
    return Array(pointer_type, size, array, count)


def uint32s(array: int, count: int) -> Any:
    """A uint32_t array of `count` numbers at an address; to be iterated once."""
    return _numbers("uint32_t *", 4, array, count)


def pointers(array: int, count: int) -> Any:
    """An array of pointers, as integers; to be iterated once."""
    return _numbers("uintptr_t *", 8, array, count)


def string(pointer: int) -> str:
    """A zero-terminated string; invalid UTF-8 becomes surrogates."""
    return ffi.string(cast("char *", pointer)).decode(errors="surrogateescape")


def constant_string(text: str) -> Any:
    """A C string, valid as long as the result is alive."""
    return ffi.new("char[]", text.encode())


def pointer_of(data: Any) -> int:
    """Address of C data."""
    return int(cast("uintptr_t", data))


_operand_type = Struct("@iIPfi").unpack_from
"""Reads all members of ANeuralNetworksOperandType at once, twice as fast as one by one."""


def operand_type(pointer: int) -> tuple[int, Sequence[int] | None, int, float, int]:
    """ANeuralNetworksOperandType: code, dimensions or None, dimensionCount, scale, zeroPoint."""
    members = ffi.buffer(cast("ANeuralNetworksOperandType *", pointer))
    code, count, array, scale, zero_point = _operand_type(members)
    return code, uint32s(array, count) if array else None, count, scale, zero_point


def argument_type(pointer: int) -> Any:
    """A reader for the optional operand type of an argument, called when it is validated."""
    if not pointer:
        return None
    return lambda: checked_type(*operand_type(pointer))[1]


def channel_quant(pointer: int) -> tuple[int, Sequence[float] | None]:
    """ANeuralNetworksSymmPerChannelQuantParams: channelDim, scales (None: NULL with a count)."""
    it = cast("ANeuralNetworksSymmPerChannelQuantParams *", pointer)
    if not it.scales:
        return it.channelDim, None if it.scaleCount else []
    return it.channelDim, _numbers("float *", 4, pointer_of(it.scales), it.scaleCount)
