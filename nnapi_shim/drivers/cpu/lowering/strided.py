"""Copies between strided views of memory: what nearly all data movement becomes.

A copy is a source, a target, and axes that both are stepped through along. Axes that both sides
step through as one are merged, what is left of the innermost is a run of bytes, and the pair of
axes along which source and target are contiguous is transposed in blocks. A filled region is a
copy from a constant that stands still.
"""

from collections.abc import Iterable, Sequence
from math import prod
from struct import pack

from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Alias, At, Space, Step, record
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hal.types import byte_size, element_count
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.operations.declare import BoundOperand

PLACES = {
    "axes": ADDRESS,
    "rank": INT64,
    "inner": INT64,
    "inner_input": INT64,
    "inner_output": INT64,
    "lines": INT64,
    "tile_lines": INT64,
    "rows": INT64,
    "part": INT64,
}
"""A line is what a kernel has loops for. Several along an `inner` axis lie some bytes apart; other
axes, int64[rank, 3], innermost first, of size and bytes per index, lead through all `lines`. A tile
is `tile_lines` of them or, where that is 1, a `part` of one: some of its `rows`."""

COPY = record(
    Space.COPIES,
    input=ADDRESS,
    output=ADDRESS,
    **PLACES,
    input_step=INT64,
    output_step=INT64,
    bytes=INT64,
)
TRANSPOSE = record(
    input=ADDRESS,
    output=ADDRESS,
    **PLACES,
    columns=INT64,
    column_step=INT64,
    row_step=INT64,
)

TILE_BYTES = 1 << 15
"""About how many bytes a tile copies."""

MOST_BYTES = 1 << 24
"""Bytes of a strip of a matrix that are worth being shared out among tiles."""

PATTERN_BYTES = 1 << 12
"""Bytes of the constant that large regions are filled from."""

SIDE = {1: 16, 2: 8, 4: 8}
"""Side of the squares that are transposed in registers, by element size."""

STRIP_BYTES = 128
"""Two lines of the cache: matrices are transposed in strips as wide as this, on both sides."""

INTERLEAVED_LINES = (2, 3, 4)
"""Short sides of matrices whose long side is worked on in vectors."""


class Axis(NamedTuple):
    """`size` steps, each of which moves the source and the target by some bytes."""

    size: int
    input: int
    output: int


def strides(dimensions: Sequence[int], size: int) -> list[int]:
    """Bytes from one index to the next, per dimension, of elements of `size` bytes."""
    result = []
    for length in reversed(dimensions):
        result.append(size)
        size *= length
    return result[::-1]


def moved(
    source: BoundOperand, target: BoundOperand, axes: Iterable[Axis], offset: int = 0
) -> list[Step | Alias]:
    """Steps that write all of an operand from elements of another one of the same type; no step
    where both hold the same bytes. offset: of the source's first element, in bytes.
    """
    axes = list(axes)
    size = ELEMENT_BYTES[target.type]
    dense = _merged(axes) in ([], [Axis(element_count(target.dimensions), size, size)])
    if dense and byte_size(source) == byte_size(target):
        return [Alias(source, target)]
    return [copied(At(source, offset), target, axes, size)]


def copied(source: Any, target: Any, axes: Iterable[Axis], size: int, once: bool = False) -> Step:
    """The step that copies elements of `size` bytes.

    source, target: where the element at index 0 of all axes lies. Bytes of the target are written
    once, and none of them is read.
    """
    merged = _merged(axes)
    if any(axis.size == 0 for axis in merged):
        return _runs(source, target, [Axis(0, 0, 0), Axis(1, 0, 0)], size, once)  # of no tiles
    length = size
    if merged and merged[-1].input == merged[-1].output == size:
        length *= merged.pop().size
    if merged and length in SIDE:
        columns = merged[-1]
        for rows in merged[:-1]:
            if rows.input == length == columns.output:
                outer = [axis for axis in merged if axis not in (rows, columns)]
                return _transposed(source, target, outer, rows, columns, length, once)
    pieces = _pieces(length, length)
    if pieces > 1:
        length //= pieces
        merged.append(Axis(pieces, length, length))
    return _runs(source, target, merged, length, once)


def filled(
    target: Any, dimensions: Sequence[int], steps: Sequence[int], value: bytes
) -> list[Step]:
    """Steps that store `value` everywhere in a region: its size and bytes per index by axis."""
    merged = _merged(Axis(n, 0, step) for n, step in zip(dimensions, steps, strict=True))
    if any(axis.size == 0 for axis in merged):
        return []
    length = len(value)
    if merged and merged[-1].output == length:
        length *= merged.pop().size
    piece = min(length, PATTERN_BYTES // len(value) * len(value))
    pattern = value * (piece // len(value))
    count = length // piece
    pieces = [Axis(count, 0, piece)] if count > 1 else []
    result = [_runs(pattern, target, merged + pieces, piece)]
    whole = count * piece
    if whole < length:
        result.append(_runs(pattern, At(target, whole), merged, length - whole))
    return result


def _merged(axes: Iterable[Axis]) -> list[Axis]:
    """As few axes as lead to the same places, in the order of the target; none has size 1."""
    merged: list[Axis] = []
    for axis in sorted((a for a in axes if a.size != 1), key=lambda a: -a.output):
        if merged:
            outer = merged[-1]
            if (outer.input, outer.output) == (axis.input * axis.size, axis.output * axis.size):
                merged[-1] = Axis(outer.size * axis.size, axis.input, axis.output)
                continue
        merged.append(axis)
    return merged


def _pieces(count: int, length: int) -> int:
    """A number that divides `count`, so that as many parts of `length` bytes make good tiles."""
    least = -(-length // TILE_BYTES)
    return next((n for n in range(least, 4 * least) if count % n == 0), 1)


def _runs(source: Any, target: Any, axes: list[Axis], length: int, once: bool = False) -> Step:
    """Copy runs of `length` bytes; the innermost axis is the kernel's loop."""
    *outer, rows = axes or [Axis(1, 0, 0)]
    return Step(
        COPY,
        f"copy_b{8 * length}" if length in SIDE else "copy_runs",
        once=once,
        input=source,
        output=target,
        **_split(outer, rows.size, length, 1),
        input_step=rows.input,
        output_step=rows.output,
        bytes=length,
    )


def _transposed(
    source: Any,
    target: Any,
    outer: list[Axis],
    rows: Axis,
    columns: Axis,
    size: int,
    once: bool,
) -> Step:
    """Copy matrices; the source is contiguous along `rows`, the target along `columns`."""
    strip = STRIP_BYTES // size
    # Rows that are too few to be shared out among tiles, or of which a strip is too long for one.
    if rows.size < 4 * strip or columns.size * strip * size > MOST_BYTES:
        pieces = _pieces(columns.size, min(rows.size, 4 * strip) * columns.size * size)
        if pieces > 1:
            columns = columns._replace(size=columns.size // pieces)
            outer.append(Axis(pieces, columns.input * columns.size, columns.output * columns.size))
    kernel = "transpose"
    if columns.size in INTERLEAVED_LINES and rows.output == columns.size * size:
        kernel = "interleave"
    elif rows.size in INTERLEAVED_LINES and columns.input == rows.size * size:
        kernel = "deinterleave"
    return Step(
        TRANSPOSE,
        f"{kernel}_b{8 * size}",
        once=once,
        input=source,
        output=target,
        **_split(outer, rows.size, columns.size * size, strip),
        columns=columns.size,
        column_step=columns.input,
        row_step=rows.output,
    )


def _split(outer: Sequence[Axis], rows: int, row_bytes: int, block: int) -> dict[str, Any]:
    """The fields that lead to the lines, and how these are cut into tiles.

    A part consists of whole blocks of rows; the last one takes what is left over, too.
    """
    lines = prod(axis.size for axis in outer)
    part = max(TILE_BYTES // row_bytes // block, 1) * block
    parts = max(rows // part, 1)
    tile_lines = 1 if parts > 1 else TILE_BYTES // (row_bytes * rows or 1) or 1
    *axes, inner = outer or [Axis(1, 0, 0)]
    table = [number for axis in reversed(axes) for number in axis]
    return {
        "tiles": -(-lines // tile_lines) * parts,
        "axes": pack(f"<{len(table)}q", *table) or None,
        "rank": len(axes),
        "inner": inner.size,
        "inner_input": inner.input,
        "inner_output": inner.output,
        "lines": lines,
        "tile_lines": tile_lines,
        "rows": rows,
        "part": part,
    }
