"""Bytes looked up in a table of 256, as many at once as a vector has.

An instruction looks up 16 entries by four bits; what it finds in each of 16 such tables is chosen
from by the other four.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from nnapi_shim.drivers.cpu.codegen.elements import READ, WRITE
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, declaration, load, long, pick, store, vector
from nnapi_shim.drivers.cpu.toolchain.kernel import helper
from nnapi_shim.drivers.cpu.toolchain.target import target_shuffle

SHUFFLE, LANES = target_shuffle()
u8, write_b8 = READ["u8"], WRITE["b8"]


def _constant(value: int) -> Any:
    return ir.Constant(vector(BYTE, LANES), [value] * LANES)


def _found(builder: Any, table: Any, low: Any, bits: Sequence[Any], number: int) -> Any:
    """Entries whose upper bits, except those in `bits`, are `number`.

    low: the lower four bits. bits: vectors of which the top bits are upper bits, highest first.
    """
    if not bits:
        at = builder.add(table, long(16 * number))
        part = pick(builder, load(builder, at, vector(BYTE, 16), 1), [*range(16)] * (LANES // 16))
        shuffle = declaration(builder.module, SHUFFLE, part.type, [part.type] * 2)
        return builder.call(shuffle, [part, low])
    highest, *others = bits
    clear, is_set = (_found(builder, table, low, others, 2 * number + bit) for bit in (0, 1))
    negative = builder.icmp_signed("<", highest, _constant(0))
    return builder.select(negative, is_set, clear)


@intrinsic
def _blocks(typing_context: Any, y: Any, x: Any, blocks: Any, table: Any) -> Any:
    """Translate `blocks` vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, source, blocks, table = arguments
        with cgutils.for_range(builder, blocks) as block:
            at = builder.mul(block.index, long(LANES))
            value = load(builder, builder.add(source, at), vector(BYTE, LANES), 1)
            bits = [value]
            for _ in range(3):
                bits.append(builder.add(bits[-1], bits[-1]))
            low = builder.and_(value, _constant(15))
            store(builder, _found(builder, table, low, bits, 0), builder.add(target, at), 1)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), generate


@helper
def _translate_vectors(y, x, count, table):
    """What fills vectors; the number of bytes done."""
    _blocks(y, x, count // LANES, table)
    return count // LANES * LANES


@helper
def _translate_none(y, x, count, table):
    return 0


_translate_first = _translate_vectors if SHUFFLE else _translate_none


@helper
def translate(y, x, count, table):
    """byte[count] at y = table[byte[count] at x]; y may be x. table: byte[256]."""
    for i in range(_translate_first(y, x, count, table), count):
        write_b8(y, i, u8(table, u8(x, i)))
