"""What the checker finds in the protocols as they are, and with each order weakened in turn."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tests.memory_order import boot, fast_path, region, sleeping
from tests.memory_order.exploration import Explored, explore
from tests.memory_order.operations import Order
from tests.memory_order.protocol import Access, Make, Orders, Protocol

PROTOCOLS = (region.PROTOCOL, sleeping.PROTOCOL, fast_path.PROTOCOL, *boot.PROTOCOLS)


class Verdict(NamedTuple):
    """A line of the output. is_good: it says what it should; why: the reason for an order that is
    stronger than needed.
    """

    protocol: str
    what: str
    finding: str
    is_good: bool
    states: int
    why: str = ""
    execution: tuple[str, ...] = ()


def _first_finding(programs: Mapping[str, Make], orders: Orders) -> tuple[str, Explored]:
    """The first program with a finding; the last one, and how many states all have, if none has."""
    states = 0
    for name, make in programs.items():
        explored = explore(make(orders))
        states += explored.states
        if explored.finding:
            return name, explored
    return "", Explored(states, set())


def _verdict(
    protocol: Protocol,
    what: str,
    programs: Mapping[str, Make],
    orders: Orders,
    is_expected: bool,
    why: str = "",
) -> Verdict:
    name, found = _first_finding(programs, orders)
    finding = f"{found.finding} ({name})" if found.finding else ""
    is_good = bool(finding) == is_expected
    execution = tuple(found.execution)
    return Verdict(protocol.name, what, finding, is_good, found.states, why, execution)


class Weakening(NamedTuple):
    """Something wrong with the code that has to be found. access: the name of the weakened access;
    empty: it is another change.
    """

    access: str
    what: str
    programs: Mapping[str, Make]
    orders: Orders


def weakenings(protocol: Protocol) -> Iterator[Weakening]:
    """Each order in turn that does not suffice, and what else may be wrong."""
    for name, access in protocol.accesses.items():
        for order in access.weaker():
            if order not in access.enough:
                what = f"{_before(name, access)}{_name(access.kind, order)}"
                orders = protocol.orders({name: order})
                yield Weakening(name, what, protocol.programs, orders)
    for what, change in protocol.changes.items():
        yield Weakening("", what, change.programs, protocol.orders(change.orders))


def verdicts(protocol: Protocol) -> Iterator[Verdict]:
    """The protocol with the orders of the C code, and with all that suffice, at once; then with
    each order weakened in turn, and with what else may be wrong.

    A weaker order allows all that a stronger one does. So what suffices with all others as weak is
    not explored again.
    """
    yield _verdict(protocol, "as it is", protocol.programs, protocol.orders(), False)
    least = protocol.least()
    at_once = _verdict(protocol, "all that suffice, at once", protocol.programs, least, False)
    yield at_once
    wrong = list(weakenings(protocol))
    for name, access in protocol.accesses.items():
        yield from (_found(protocol, one) for one in wrong if one.access == name)
        if access.enough:
            what = _before(name, access)
            what += ", ".join(_name(access.kind, order) for order in access.enough)
            verdict = at_once._replace(what=what, states=0, why=access.why)
            if access.together is not None:
                changed = protocol.orders({name: access.enough[-1]})
                verdict = _verdict(protocol, what, protocol.programs, changed, False, access.why)
            yield verdict
    yield from (_found(protocol, one) for one in wrong if not one.access)


def _found(protocol: Protocol, one: Weakening) -> Verdict:
    return _verdict(protocol, one.what, one.programs, one.orders, True)


def _before(name: str, access: Access) -> str:
    return f"{name}: {access.order.value} -> "


def _name(kind: str, order: Order) -> str:
    return "none" if kind == "fence" and order is Order.RELAXED else order.value


def all_verdicts(protocols: Iterable[Protocol] = PROTOCOLS) -> Iterator[Verdict]:
    """All that the checker says."""
    for protocol in protocols:
        yield from verdicts(protocol)
