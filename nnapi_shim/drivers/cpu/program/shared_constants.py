"""The constants that a model holds itself, and what was made of them, once for all compilations."""

from _weakref import ref

from nnapi_shim import address
from nnapi_shim.hints import Any


class OwnValues:
    """The constants that a model holds itself, and what was made of them alone.

    All compilations of the model share it, and those of other models that hold equal constants.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.address, self._keep = address.address_of(data)
        self.packed: dict[Any, address.Block] = {}
        self._made: set[int] = set()

    def has(self, value: int | bytes) -> bool:
        """Whether an ADDRESS field of a step leads to nothing else."""
        if isinstance(value, bytes) or value == 0 or value in self._made:
            return True
        return self.address <= value < self.address + len(self.data)

    def keep(self, key: Any, block: address.Block) -> bool:
        """Keep what was made of it; False if another thread's, made meanwhile, is kept instead."""
        is_kept = self.packed.setdefault(key, block) is block
        if is_kept:
            self._made.add(block.address)
        return is_kept


WORTH_SHARING = 1 << 14
"""Bytes of constants from which on it is looked whether another model has the same."""

_known: dict[int, "ref[OwnValues]"] = {}
"""By the id of their bytes, which they keep."""


def own_values(data: bytes) -> OwnValues:
    """What is shared by all who have these bytes, or equal ones."""
    known = _known.get(id(data))
    found = known() if known is not None else None
    if found is None and len(data) >= WORTH_SHARING:
        found = _equal(data)
    if found is None:
        found = OwnValues(data)
        number = id(data)
        _known[number] = ref(found, lambda _: _known.pop(number, None))
    return found


def _equal(data: bytes) -> OwnValues | None:
    """What another model has: none is looked at but those that may be equal, byte by byte."""
    for known in [*_known.values()]:
        found = known()
        if found is not None and len(found.data) == len(data) and found.data == data:
            return found
    return None
