"""Vectors of which a micro-kernel loads or stores the first lanes: at the last columns."""

from typing import Any

from llvmlite import ir

from nnapi_shim.drivers.cpu.codegen.mac_schemes import MacScheme
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, LONG, Builder, long, vector
from nnapi_shim.drivers.cpu.isa.tier import Tiling


class PartialVectors:
    """What a micro-kernel has for it. size: bytes of an element of the outputs."""

    builder: Builder
    tiling: Tiling
    scheme: MacScheme
    lanes: int
    size: int
    is_float: bool

    def _mask(self, builder: Any, count: Any, lanes: int) -> Any:
        """The first `count` lanes."""
        # Lanes as wide as those of the store: LLVM uses such a mask directly.
        return builder.lanes_before(count if self.is_float else builder.trunc(count, BYTE), lanes)

    def _load_partial(self, builder: Any, address: Any, count: Any, lanes: int = 0) -> Any:
        """Load the first `count` lanes of a vector of elements, at most all of them."""
        lanes = lanes or self.lanes
        kind = vector(self.scheme.element, lanes)
        size = self.size
        is_partial = builder.icmp_signed("<", count, long(lanes))
        count = builder.select(is_partial, count, long(lanes))
        if self.tiling.masked:
            mask = self._mask(builder, count, lanes)
            return builder.masked_load(address, ir.Constant(kind, None), mask, size)
        loaded = builder.variable(kind)
        builder.store(ir.Constant(kind, None), loaded)
        with builder.if_else(is_partial) as (then, otherwise):
            with then:
                scratch = builder.ptrtoint(loaded, LONG)
                with builder.each(count, size) as offset:
                    one = builder.load_from(builder.add(address, offset), kind.element, size)
                    builder.store_to(one, builder.add(scratch, offset), size)
            with otherwise:
                builder.store(builder.load_from(address, kind, size), loaded)
        return builder.load(loaded)

    def _store_partial(self, value: Any, address: Any, size: int, count: Any) -> None:
        """Store the first `count` lanes."""
        builder, kind = self.builder, value.type
        if self.tiling.masked:
            builder.masked_store(value, address, self._mask(builder, count, kind.count), size)
            return
        scratch = builder.ptrtoint(builder.variable(kind, value), LONG)
        with builder.each(count, size) as offset:
            one = builder.load_from(builder.add(scratch, offset), kind.element, size)
            builder.store_to(one, builder.add(address, offset), size)
