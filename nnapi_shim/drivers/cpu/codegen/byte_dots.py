"""Products of int16 numbers and rows of bytes as they are stored: exact sums, modulo 2^32.

The numbers are followed by zeros up to a multiple of BLOCK, so that a row of weights is read in
whole vectors, and beyond its end; only the last rows, behind which there may be no memory, are not.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.numeric import add32, i8, i16, i32, multiply32, u8
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, HALFWORD, WORD, long, vector
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

ROWS = 4
"""Rows of weights that are multiplied at once."""
BLOCK = 2 * TILING.lanes
"""Elements of a vector of int16."""


def _products(is_signed: bool) -> Any:
    """The function that multiplies ROWS rows, whose sums it stores as int32[ROWS]."""

    @emits(types.void(*[types.int64] * 5))
    def multiply(
        builder: Any, numbers: Any, weights: Any, row_bytes: Any, blocks: Any, output: Any
    ) -> None:
        words = vector(WORD, TILING.lanes)
        sums = [builder.variable(words, ir.Constant(words, None)) for _ in range(ROWS)]
        rows = [builder.add(weights, builder.mul(row_bytes, long(row))) for row in range(ROWS)]
        wide = builder.sext if is_signed else builder.zext
        with builder.each(blocks, BLOCK) as first:
            at = builder.add(numbers, builder.add(first, first))
            x = builder.load_from(at, vector(HALFWORD, BLOCK), 2)
            for row, total in zip(rows, sums, strict=True):
                stored = builder.load_from(builder.add(row, first), vector(BYTE, BLOCK), 1)
                w = wide(stored, x.type)
                builder.store(ISA.dot_pairs(builder, builder.load(total), x, w), total)
        builder.store_to(_sum_of_each(builder, [builder.load(total) for total in sums]), output, 4)

    return multiply


def _sum_of_each(builder: Any, vectors: Sequence[Any]) -> Any:
    """The sums of the lanes of four vectors, as a vector."""
    parts = []
    for whole in vectors:
        while whole.type.count > len(vectors):
            half = whole.type.count // 2
            whole = builder.add(*[builder.pick(whole, range(at, at + half)) for at in (0, half)])
        parts.append(whole)
    evens, odds = range(0, 2 * len(parts), 2), range(1, 2 * len(parts), 2)
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [
            builder.add(builder.pick_of_two(a, b, evens), builder.pick_of_two(a, b, odds))
            for a, b in pairs
        ]
    return parts[0]


def _dots(pointer: Any, is_signed: bool) -> Any:
    """The function for one type of weights."""
    multiply = _products(is_signed)

    @helper
    def dots(numbers, weights, count, first, last, rows, output):
        """output: int32[rows], of which those from `first` to `last` become the sums of products of
        int16[count] and bytes [rows, count].
        """
        x, results = i16(numbers), i32(output)
        blocks = (count + BLOCK - 1) // BLOCK
        row, end = first, rows * count - blocks * BLOCK
        while row + ROWS <= last and (row + ROWS - 1) * count <= end:
            multiply(numbers, weights + row * count, count, blocks, output + 4 * row)
            row += ROWS
        for each in range(row, last):
            own, total = pointer(weights + each * count), np.int32(0)
            for k in range(count):
                total = add32(total, multiply32(x[k], own[k]))
            results[each] = total

    return dots


dots_s8, dots_u8 = _dots(i8, True), _dots(u8, False)
