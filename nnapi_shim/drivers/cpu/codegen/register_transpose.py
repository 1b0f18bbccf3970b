"""Blocks of elements that are copied, interleaved or transposed in registers, and loops over them.

An emitter (builder, x, x_step, y, y_step) loads vectors at positions relative to the address x, and
stores vectors at positions relative to the address y. The position (steps, elements) is that many
times x_step or y_step bytes, and that many elements, further on.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.numeric import copy_bytes
from nnapi_shim.drivers.cpu.codegen.vector import LONG, long, vector
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

Emitter = Callable[..., None]
Positions = Sequence[tuple[int, int]]


def block_emitter(
    element: Any,
    lanes: int,
    loads: Positions,
    stores: Positions,
    shuffle: Callable[..., Sequence[Any]],
) -> Emitter:
    """Load vectors of `lanes` elements, store those of shuffle(builder, vectors)."""
    kind = vector(element, lanes)

    def emit(builder: Any, x: Any, x_step: Any, y: Any, y_step: Any) -> None:
        def address(base: Any, step: Any, steps: int, elements: int) -> Any:
            moved = builder.add(base, builder.mul(step, long(steps)))
            return builder.add(moved, long(elements * element.width // 8))

        loaded = [builder.load_from(address(x, x_step, *where), kind, 1) for where in loads]
        for value, where in zip(shuffle(builder, loaded), stores, strict=True):
            builder.store_to(value, address(y, y_step, *where), 1)

    return emit


def _gather_lanes(builder: Any, vectors: Sequence[Any], wanted: Positions) -> Any:
    """The vector of the lanes wanted: (number of the vector, lane) each."""
    result, lanes = vectors[0], len(wanted)
    order = [lane for _, lane in wanted]
    for number, other in enumerate(vectors[1:], 1):
        order = [
            lanes + lane if of == number else at
            for at, (of, lane) in zip(order, wanted, strict=True)
        ]
        result, order = builder.pick_of_two(result, other, order), list(range(lanes))
    return result


def same(element: Any, lanes: int) -> Emitter:
    """A vector as it is."""
    return block_emitter(element, lanes, [(0, 0)], [(0, 0)], lambda builder, vectors: vectors)


def pair(width: int) -> Emitter:
    """Two pieces of `width` bytes, a step apart, as they are."""
    positions, piece = [(0, 0), (1, 0)], min(width, 8)  # there are no registers of so few bytes
    element = ir.IntType(8 * piece)
    return block_emitter(
        element, width // piece, positions, positions, lambda builder, vectors: vectors
    )


def spread(element: Any, lanes: int) -> Emitter:
    """One element in every lane."""
    zeros = [0] * lanes
    return block_emitter(
        element, 1, [(0, 0)], [(0, 0)], lambda b, vectors: [b.pick(vectors[0], zeros)]
    )


def backwards(element: Any, lanes: int) -> Emitter:
    """The element at x and those in front of it."""
    order, loads = range(lanes)[::-1], [(0, 1 - lanes)]
    return block_emitter(
        element, lanes, loads, [(0, 0)], lambda b, vectors: [b.pick(vectors[0], order)]
    )


def interleaved(element: Any, lanes: int, count: int) -> Emitter:
    """`count` lines, a step apart, become one line with elements of each in turn."""
    positions = [divmod(at, count)[::-1] for at in range(count * lanes)]
    stores = [(0, at) for at in range(0, count * lanes, lanes)]

    def shuffle(builder: Any, vectors: Sequence[Any]) -> Sequence[Any]:
        return [_gather_lanes(builder, vectors, positions[at : at + lanes]) for _, at in stores]

    return block_emitter(element, lanes, [(line, 0) for line in range(count)], stores, shuffle)


def deinterleaved(element: Any, lanes: int, count: int, lines: int) -> Emitter:
    """Of each `count` elements the first `lines` go to one line each, a step apart.

    No element after the last one is read.
    """
    end = (lanes - 1) * count + lines
    loads = [(0, min(number * lanes, end - lanes)) for number in range(count)]

    def position(at: int) -> tuple[int, int]:
        return at // lanes, at - loads[at // lanes][1]

    def shuffle(builder: Any, vectors: Sequence[Any]) -> Sequence[Any]:
        return [
            _gather_lanes(builder, vectors, [position(at * count + line) for at in range(lanes)])
            for line in range(lines)
        ]

    return block_emitter(element, lanes, loads, [(line, 0) for line in range(lines)], shuffle)


def transposed(element: Any, side: int) -> Emitter:
    """Transpose a square of `side` lines, which are a step apart.

    A perfect shuffle interleaves the first half of the rows with the second half, element by
    element; after log2(side) of them, rows and columns are exchanged. Rows shorter than a register
    share one.
    """
    lanes = max(side, 128 // element.width)
    lines = lanes // side
    low = [at for i in range(lanes // 2) for at in (i, lanes + i)]
    high = [at + lanes // 2 for at in low]

    def shuffle(builder: Any, vectors: Sequence[Any]) -> Sequence[Any]:
        rows = [builder.join(vectors[i : i + lines]) for i in range(0, side, lines)]
        half = len(rows) // 2
        for _ in range(side.bit_length() - 1):
            rows = [
                builder.pick_of_two(rows[i], rows[i + half], order)
                for i in range(half)
                for order in (low, high)
            ]
        if lines == 1:
            return rows
        parts = [range(i, i + side) for i in range(0, lanes, side)]
        return [builder.pick(row, part) for row in rows for part in parts]

    positions = [(line, 0) for line in range(side)]
    return block_emitter(element, side, positions, positions, shuffle)


def lines_of(*levels: tuple[int, Emitter]) -> Any:
    """A function of kernels (x, y, lines, x_line, y_line, count, x_next, y_next, x_step, y_step):
    lines of `count` elements, of which each next one lies x_next and y_next bytes on.

    levels: how many elements a block has, and its emitter. The first that fits into a line is
    taken, or else the last; the last block of a line reaches back.
    """

    @emits(types.void(*[types.int64] * 10))
    def through(builder: Any, *arguments: Any) -> None:
        count, emitters = arguments[5], dict(levels)
        builder.choose_lanes(
            count, [*emitters], lambda lanes: _lines(builder, lanes, emitters[lanes], *arguments)
        )

    return through


_line = lines_of((128, same(ir.IntType(8), 128)))


@helper
def copy_long(target, source, length):
    """Copy memory that does not overlap.

    Not the C library's memcpy where it is long: on some processors that falls to a fifth of its
    speed when the target is a few bytes after the source, modulo 4096.
    """
    if length < 128:
        copy_bytes(target, source, length)
    else:
        _line(source, target, 1, 0, 0, length, 1, 1, 0, 0)


def _lines(
    builder: Any, lanes: int, emit: Emitter, x: Any, y: Any, lines: Any, x_line: Any, y_line: Any,
    count: Any, x_next: Any, y_next: Any, x_step: Any, y_step: Any,
) -> None:  # fmt: skip
    blocks = builder.sdiv(builder.add(count, long(lanes - 1)), long(lanes))
    last = builder.sub(blocks, long(1))
    short = builder.sub(count, long(lanes))
    steps = [builder.mul(step, long(lanes)) for step in (x_next, y_next)]
    ends = [builder.mul(step, short) for step in (x_next, y_next)]
    starts = [builder.variable(LONG, start) for start in (x, y)]
    cursors = [builder.variable(LONG) for _ in starts]
    with builder.each(lines):
        line = [builder.load(start) for start in starts]
        for cursor, start in zip(cursors, line, strict=True):
            builder.store(start, cursor)
        with builder.each(blocks) as block:
            current = [builder.load(cursor) for cursor in cursors]
            at = current
            if lanes > 1:  # the last block may reach back
                is_last = builder.icmp_signed("==", block, last)
                at = [
                    builder.select(is_last, builder.add(start, end), here)
                    for start, end, here in zip(line, ends, current, strict=True)
                ]
            emit(builder, at[0], x_step, at[1], y_step)
            for cursor, value, step in zip(cursors, current, steps, strict=True):
                builder.store(builder.add(value, step), cursor)
        for start, value, step in zip(starts, line, (x_line, y_line), strict=True):
            builder.store(builder.add(value, step), start)
