"""Strided copies, to which nearly all data movement is lowered.

A copy has a source, a target, and axes with a stride on both sides. Axes with compatible strides
are merged, and a contiguous innermost axis becomes a run of bytes. If the source is contiguous
along one axis and the target along another, the two are transposed in blocks. A fill is a copy from
a constant with stride 0.
"""

from math import prod
from struct import pack

from nnapi_shim.drivers.cpu.lowering.tiling import tile_of
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Alias, At, Space, Step, record
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hal.types import byte_size, element_count
from nnapi_shim.hints import Any, Iterable, NamedTuple, Sequence
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
"""A line is the unit that the loops of a kernel process. Lines have an `inner` axis with a stride
on both sides, and outer axes: int64[rank, 3], innermost first, size and both strides. A tile is
`tile_lines` of all `lines` or, if that is 1, a `part` of the `rows` of a line."""

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
"""Bytes per tile, about."""

MAX_STRIP_BYTES = 1 << 24
"""Bytes of a strip of a matrix, at most, in one tile."""

PATTERN_BYTES = 1 << 12
"""Bytes of the constant from which large regions are filled, at most."""

SIDE = {1: 16, 2: 8, 4: 8}
"""Side of the squares that are transposed in registers, per element size."""

STRIP_BYTES = 128
"""Two cache lines: the width of the strips in which matrices are transposed."""

INTERLEAVED_LINES = (2, 3, 4)
"""Short sides of matrices that are interleaved or deinterleaved with vectors of the long side."""


class Axis(NamedTuple):
    """An axis of `size` indexes, with the strides of source and target in bytes."""

    size: int
    input: int
    output: int


def strides(dimensions: Sequence[int], size: int) -> list[int]:
    """The strides in bytes of a dense tensor with elements of `size` bytes."""
    result = []
    for length in reversed(dimensions):
        result.append(size)
        size *= length
    return result[::-1]


def moved(
    source: BoundOperand, target: BoundOperand, axes: Iterable[Axis], offset: int = 0
) -> list[Step | Alias]:
    """Steps that copy elements to a whole operand of the same type; an Alias if the bytes are the
    same. offset: of the source's first element, in bytes.
    """
    axes = list(axes)
    size = ELEMENT_BYTES[target.type]
    dense = _merged(axes) in ([], [Axis(element_count(target.dimensions), size, size)])
    if dense and byte_size(source) == byte_size(target):
        return [Alias(source, target)]
    return [copied(At(source, offset), target, axes, size)]


def copied(source: Any, target: Any, axes: Iterable[Axis], size: int, once: bool = False) -> Step:
    """The step that copies elements of `size` bytes.

    source, target: memory of the element at index 0 of all axes. Every byte of the target is
    written once and never read.
    """
    merged = _merged(axes)
    if any(axis.size == 0 for axis in merged):
        return _runs(source, target, [Axis(0, 0, 0), Axis(1, 0, 0)], size, once)  # zero tiles
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
    """Steps that fill a region with `value`. steps: strides of the dimensions in bytes."""
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
    """Merge compatible axes, in the order of the target's strides; removes axes of size 1."""
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
    """A divisor of `count` that cuts `length` bytes into pieces of about TILE_BYTES; else 1."""
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
    # Split columns if there are too few rows for several tiles, or a strip is too long for a tile.
    if rows.size < 4 * strip or columns.size * strip * size > MAX_STRIP_BYTES:
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
    """The number of tiles, and the fields PLACES.

    A part is a multiple of `block` rows; the last part includes the remainder.
    """
    lines = prod(axis.size for axis in outer)
    tile_bytes = tile_of(TILE_BYTES, lines * rows * row_bytes)
    part = max(tile_bytes // row_bytes // block, 1) * block
    parts = max(rows // part, 1)
    tile_lines = 1 if parts > 1 else tile_bytes // (row_bytes * rows or 1) or 1
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
