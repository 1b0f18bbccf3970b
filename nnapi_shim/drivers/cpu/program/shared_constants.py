"""The constants that a model itself holds, and the blocks packed of them: for all compilations."""

from _weakref import ref

from nnapi_shim import address
from nnapi_shim.hints import Any


class SharedConstants:
    """The constants that a model itself holds, and the blocks that were packed of them alone.

    All compilations of the model share them, and those of other models that hold equal constants.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.address, self._keep = address.address_of(data)
        self.packed: dict[Any, address.Block] = {}
        self._packed_at: set[int] = set()

    def has(self, value: int | bytes) -> bool:
        """Whether the value of an ADDRESS field of a step leads to nothing but these constants."""
        if isinstance(value, bytes) or value == 0 or value in self._packed_at:
            return True
        return self.address <= value < self.address + len(self.data)

    def keep(self, key: Any, block: address.Block) -> bool:
        """Keep a packed block; returns False if the block of another thread is kept instead."""
        is_kept = self.packed.setdefault(key, block) is block
        if is_kept:
            self._packed_at.add(block.address)
        return is_kept


WORTH_SHARING = 1 << 14
"""Bytes of constants from which on those of other models are compared."""

_known: dict[int, "ref[SharedConstants]"] = {}
"""By the id of their bytes, which they keep."""


def shared_constants(data: bytes) -> SharedConstants:
    """The constants that all owners of these bytes, or of equal bytes, share."""
    known = _known.get(id(data))
    found = known() if known is not None else None
    if found is None and len(data) >= WORTH_SHARING:
        found = _equal(data)
    if found is None:
        found = SharedConstants(data)
        number = id(data)
        _known[number] = ref(found, lambda _: _known.pop(number, None))
    return found


def _equal(data: bytes) -> SharedConstants | None:
    """Those of another model with equal bytes; models of other lengths are not compared."""
    for known in [*_known.values()]:
        found = known()
        if found is not None and len(found.data) == len(data) and found.data == data:
            return found
    return None
