"""Whether the C code has the atomic operations, and their orders, that the protocols say."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.memory_order.operations import Order
from tests.memory_order.protocol import Access, Protocol

NATIVE = Path(__file__).resolve().parents[2] / "nnapi_shim" / "native"
NAMED = re.compile(r"memory_order_(\w+)")


def order_in(source: str, access: Access) -> Order | None:
    """The order of an operation in C code; None if it is not there."""
    begin = source.find(access.text)
    if begin < 0:
        return None
    depth, at = 0, source.index("(", begin)
    for end in range(at, len(source)):
        depth += {"(": 1, ")": -1}.get(source[end], 0)
        if depth == 0:
            break
    named = NAMED.search(source, at, end)
    return Order(named.group(1)) if named else Order.SEQ_CST


def differences(protocols: Iterable[Protocol], folder: Path = NATIVE) -> Iterator[str]:
    """What is different in the C code."""
    for protocol in protocols:
        for name, access in protocol.accesses.items():
            order = order_in((folder / access.file).read_text(), access)
            if order is not access.order:
                there = order.value if order else "no such operation"
                yield f"{access.file}: {name}: {access.order.value} is expected, there is {there}"
