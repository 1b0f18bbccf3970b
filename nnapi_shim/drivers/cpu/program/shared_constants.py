"""Constants and packed blocks that all compilations of a model share."""

from _weakref import ref

from nnapi_shim import address
from nnapi_shim.hints import Any


class SharedConstants:
    """The own constants of a model, and the blocks packed from them.

    All compilations of the model, and of other models with equal constants, share them.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.address, self._keep = address.address_of(data)
        self.packed: dict[Any, address.Block] = {}
        self._packed_at: set[int] = set()

    def has(self, value: int | bytes) -> bool:
        """Whether the value of an ADDRESS field refers only to these constants or blocks."""
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
"""Bytes of constants, at least, that are compared with those of other models."""

_known: dict[int, "ref[SharedConstants]"] = {}
"""id of the bytes -> the constants, which keep the bytes alive."""


def shared_constants(data: bytes, is_rest: bool = False) -> SharedConstants:
    """The constants that all owners of these bytes, or of equal bytes, share.

    is_rest: the model has more constants, in immutable memories.
    """
    known = _known.get(id(data))
    constants = known() if known is not None else None
    if constants is None and (is_rest or len(data) >= WORTH_SHARING):
        constants = _equal(data)
    if constants is None:
        constants = SharedConstants(data)
        number = id(data)
        _known[number] = ref(constants, lambda _: _known.pop(number, None))
    return constants


def _equal(data: bytes) -> SharedConstants | None:
    """The shared constants of another model with equal bytes; None if there are none."""
    for known in [*_known.values()]:
        constants = known()
        if constants is not None and len(constants.data) == len(data) and constants.data == data:
            return constants
    return None
