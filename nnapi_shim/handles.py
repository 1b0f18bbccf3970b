"""Handles: numbers with a kind and a generation that C programs hold as opaque pointers.

Layout: bit 63 set, the kind in bits 56 to 62, below it a serial number that is never reused. Such a
number is no valid user-space address, so a foreign pointer is never accepted as a handle, and a
freed handle is distinguished from one that was never issued.
"""

from nnapi_shim.errors import NnapiError, bad_data, unexpected_null
from nnapi_shim.hints import Generic, TypeVar

T = TypeVar("T")

_KIND_SHIFT = 56
_SERIAL_MASK = (1 << _KIND_SHIFT) - 1

_tables: dict[int, "HandleTable[object]"] = {}


def kind_of(handle: int) -> "tuple[HandleTable[object] | None, int]":
    """The table of a handle (None if it is no handle) and its serial number."""
    serial = handle & _SERIAL_MASK
    table = _tables.get((handle >> _KIND_SHIFT) & 0x7F) if handle >> 63 else None
    return (table if table is not None and table.issued(serial) else None), serial


def issued(kind: str) -> int:
    """The number of handles that were issued for a kind of object."""
    return sum(table._issued for table in _tables.values() if table.kind == kind)


class HandleTable(dict[int, T], Generic[T]):
    """Handle -> object for one kind of object; `table[handle]` raises BAD_DATA for a wrong one."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self._number = len(_tables) + 1
        self._base = (0x80 | self._number) << _KIND_SHIFT
        self._issued = 0
        _tables[self._number] = self  # type: ignore[assignment]

    def add(self, item: T) -> int:
        """Issue a handle for an object."""
        self._issued += 1
        handle = self._base | self._issued
        self[handle] = item
        return handle

    def remove(self, handle: int) -> T:
        """Remove a handle; the object lives while it is in use. Raises as `table[handle]`."""
        item = self[handle]
        return self.pop(handle, item)

    def issued(self, serial: int) -> bool:
        """Whether a handle with this serial number was ever issued."""
        return 0 < serial <= self._issued

    def __missing__(self, handle: int) -> T:
        raise self._diagnosis(handle)

    def _diagnosis(self, handle: int) -> NnapiError:
        if handle == 0:
            return unexpected_null(f"{self.kind} is NULL", "handle.null")
        other, _ = kind_of(handle)
        if other is None:
            return bad_data(
                f"{self.kind} {handle:#x} is not a handle of this library", "handle.unknown"
            )
        if other is not self:
            article = "an" if other.kind[0] in "aeiou" else "a"
            return bad_data(
                f"{self.kind} {handle:#x} is a handle of {article} {other.kind}",
                "handle.other-kind",
            )
        return bad_data(f"{self.kind} {handle:#x} was freed", "handle.freed")
