"""Bytes looked up in a table of 256, as many at once as a vector has."""

from typing import Any

from numba import types

from nnapi_shim.drivers.cpu.codegen.elements import READ, WRITE
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, vector
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

LANES = ISA.lookup_bytes
u8, write_b8 = READ["u8"], WRITE["b8"]


@emits(types.void(*[types.int64] * 4))
def _lookup_blocks(builder: Any, target: Any, source: Any, blocks: Any, table: Any) -> None:
    """Look up `blocks` vectors of bytes."""
    with builder.each(blocks, LANES) as at:
        value = builder.load_from(builder.add(source, at), vector(BYTE, LANES), 1)
        builder.store_to(ISA.lookup(builder, table, value), builder.add(target, at), 1)


@helper
def _lookup_vectors(y, x, count, table):
    """Look up whole vectors; the number of bytes done."""
    _lookup_blocks(y, x, count // LANES, table)
    return count // LANES * LANES


_lookup_first = _lookup_vectors if LANES else helper(lambda y, x, count, table: 0)


@helper
def lookup_bytes_of(y, x, count, table):
    """byte[count] at y = table[byte[count] at x]; y may be x. table: byte[256]."""
    for i in range(_lookup_first(y, x, count, table), count):
        write_b8(y, i, u8(table, u8(x, i)))
