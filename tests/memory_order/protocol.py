"""Protocols: an abstract program for C code, and the memory orders that the C code has there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.memory_order.machine import Setting
from tests.memory_order.operations import ACQ_REL, ACQUIRE, RELAXED, RELEASE, SEQ_CST, Order

WEAKER = {
    "load": {SEQ_CST: (ACQUIRE, RELAXED), ACQUIRE: (RELAXED,), RELAXED: ()},
    "store": {SEQ_CST: (RELEASE, RELAXED), RELEASE: (RELAXED,), RELAXED: ()},
    "update": {
        SEQ_CST: (ACQ_REL, ACQUIRE, RELEASE, RELAXED),
        ACQ_REL: (ACQUIRE, RELEASE, RELAXED),
        ACQUIRE: (RELAXED,),
        RELEASE: (RELAXED,),
        RELAXED: (),
    },
    "fence": {SEQ_CST: (ACQ_REL, RELAXED)},
}
"""What an operation does, and its order -> the orders that are weaker. A relaxed fence is none."""


class Access(NamedTuple):
    """An atomic operation of the C code.

    file, text: where it is, and its beginning there. kind: a key of WEAKER. order: that of the C
    code. enough: the orders that suffice, the weakest last, with the reason in `why`; empty: no
    weaker one. together: the one that suffices if all others are as weak; None: the weakest.
    """

    file: str
    text: str
    kind: str
    order: Order = SEQ_CST
    enough: tuple[Order, ...] = ()
    why: str = ""
    together: Order | None = None

    def weaker(self) -> tuple[Order, ...]:
        """All weaker orders."""
        return WEAKER[self.kind][self.order]


class Orders(dict[str, Order]):
    """Name of an access -> its order. They do not change, so they may be an argument of Again."""

    def __hash__(self) -> int:
        return id(self)


Make = Callable[[Orders], Setting]
"""Makes a program with these orders."""


class Change(NamedTuple):
    """Something else that is wrong with the code: programs, and orders of accesses."""

    programs: Mapping[str, Make]
    orders: Mapping[str, Order] = {}


@dataclass
class Protocol:
    """A protocol. programs: several, by what they are about, made for orders of the accesses.

    changes: what else may be wrong with the code.
    """

    name: str
    accesses: Mapping[str, Access]
    programs: Mapping[str, Make]
    changes: Mapping[str, Change] = field(default_factory=dict)

    def orders(self, changed: Mapping[str, Order] | None = None) -> Orders:
        """The orders of the C code, with others for some accesses."""
        orders = {name: access.order for name, access in self.accesses.items()}
        return Orders(orders | dict(changed or {}))

    def least(self) -> Orders:
        """All orders that suffice, at once."""
        return self.orders(
            {
                name: access.together or access.enough[-1]
                for name, access in self.accesses.items()
                if access.enough
            }
        )
