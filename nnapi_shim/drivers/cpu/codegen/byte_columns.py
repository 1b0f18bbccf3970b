"""Products of int16 numbers and bytes that are packed by columns: exact sums, modulo 2^32.

A panel is some vectors of columns. For each pair of numbers, it has the two weights of each column
side by side, so that no sums are added up across lanes, as they are in byte_dots.py.
"""

from typing import Any

from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.numeric import i8
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, HALFWORD, WORD, long, vector
from nnapi_shim.drivers.cpu.lowering.lstm_joined_q8 import COLUMNS
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

LANES = TILING.lanes
UNIT = COLUMNS // LANES
"""The number of vectors is a multiple of it."""
PANEL = 8 if ISA.tier.registers >= 32 else 4
"""Vectors of a panel; the last one has the rest."""
PANEL_COLUMNS = PANEL * LANES


@emits(types.void(*[types.int64] * 5))
def column_sums(
    builder: Any, numbers: Any, weights: Any, pairs: Any, columns: Any, output: Any
) -> None:
    """output: int32[columns], the sums of products of int16[2 * pairs] and packed columns."""
    vectors = builder.sdiv(columns, long(LANES))
    whole = builder.sdiv(vectors, long(PANEL))
    column_bytes = builder.mul(pairs, long(2))
    with builder.each(whole, PANEL_COLUMNS) as first:
        panel = builder.add(weights, builder.mul(first, column_bytes))
        target = builder.add(output, builder.mul(first, long(4)))
        _panel_sums(builder, numbers, panel, pairs, PANEL, target)
    done = builder.mul(whole, long(PANEL_COLUMNS))
    panel = builder.add(weights, builder.mul(done, column_bytes))
    target = builder.add(output, builder.mul(done, long(4)))
    rest = builder.sub(vectors, builder.mul(whole, long(PANEL)))
    for count in range(UNIT, PANEL, UNIT):
        with builder.if_then(builder.icmp_signed("==", rest, long(count))):
            _panel_sums(builder, numbers, panel, pairs, count, target)


def _panel_sums(
    builder: Any, numbers: Any, weights: Any, pairs: Any, vectors: int, output: Any
) -> None:
    """The sums of a panel of so many vectors."""
    words = vector(WORD, LANES)
    sums = [builder.variable(words, ir.Constant(words, None)) for _ in range(vectors)]
    with builder.each(pairs) as pair:
        number = builder.load_from(builder.add(numbers, builder.mul(pair, long(4))), WORD, 4)
        x = builder.bitcast(builder.splat(number, LANES), vector(HALFWORD, 2 * LANES))
        at = builder.add(weights, builder.mul(pair, long(2 * LANES * vectors)))
        for place, total in enumerate(sums):
            own = builder.add(at, long(2 * LANES * place))
            stored = builder.load_from(own, vector(BYTE, 2 * LANES), 1)
            w = builder.sext(stored, x.type)
            builder.store(ISA.dot_pairs(builder, builder.load(total), x, w), total)
    for place, total in enumerate(sums):
        builder.store_to(builder.load(total), builder.add(output, long(4 * LANES * place)), 4)


@helper
def pack_columns(source, target, first, count, depth, columns):
    """target: `columns` packed columns, of which those from `first` on become the rows of source:
    int8[count, depth].
    """
    pairs = (depth + 1) // 2
    for row in range(count):
        column = first + row
        panel = column // PANEL_COLUMNS * PANEL_COLUMNS
        width = min(PANEL_COLUMNS, columns - panel)
        weights = i8(source + row * depth)
        packed = i8(target + panel * 2 * pairs + 2 * (column - panel))
        for k in range(2 * pairs):
            packed[k // 2 * 2 * width + k % 2] = weights[k] if k < depth else 0
