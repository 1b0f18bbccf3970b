"""Prefetches the next panel of weights while the tiles of a block are multiplied by one."""

from collections.abc import Callable
from typing import Any

from nnapi_shim.drivers.cpu.codegen.vector import LONG, long


class PanelPrefetch:
    """A panel is prefetched, a part with each word of each tile.

    The hardware prefetcher starts anew at each page, so the first tile of a panel that comes from
    memory would take several times as long as the others.
    """

    def __init__(self, builder: Any, panel: Any, word_bytes: int, tiles: Any) -> None:
        """panel: its address, or 0 for none. word_bytes: of a word of all its columns."""
        self.builder = builder
        self.is_wanted = builder.icmp_signed("!=", panel, long(0))
        self.ahead = builder.variable(LONG, panel)
        self.part = builder.add(builder.udiv(long(word_bytes), tiles), long(1))

    def each(self, count: Any, together: int, body: Callable[[Any], None]) -> None:
        """Loop `count` times over `together` words; body: gets the number of words before them."""
        builder = self.builder
        with builder.if_else(self.is_wanted) as (then, otherwise):
            with then, builder.each(count, together) as done:
                body(done)
                ahead = builder.load(self.ahead)
                builder.prefetch(ahead, locality=2)
                part = builder.mul(self.part, long(together))
                builder.store(builder.add(ahead, part), self.ahead)
            with otherwise, builder.each(count, together) as done:
                body(done)
