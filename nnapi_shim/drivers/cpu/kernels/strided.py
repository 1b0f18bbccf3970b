"""Copies between strided views; lowering/strided.py describes the fields.

A kernel loops over the lines of its tile. The address of a line depends on its number alone, so
tiles are independent.
"""

from typing import Any

from llvmlite import ir

from nnapi_shim.drivers.cpu.codegen.numeric import i64
from nnapi_shim.drivers.cpu.codegen.register_transpose import (
    backwards,
    copy_long,
    deinterleaved,
    interleaved,
    lines_of,
    pair,
    same,
    spread,
    transposed,
)
from nnapi_shim.drivers.cpu.lowering.strided import (
    COPY,
    INTERLEAVED_LINES,
    SIDE,
    STRIP_BYTES,
    TRANSPOSE,
)
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel


@helper
def offsets_of(axes, rank, line):
    """Byte offsets of a line in the input and in the output."""
    steps, x, y = i64(axes), 0, 0
    for axis in range(rank):
        size = steps[3 * axis]
        x += line % size * steps[3 * axis + 1]
        y += line % size * steps[3 * axis + 2]
        line //= size
    return x, y


def through_lines(name, layout, constants, copy_lines):
    """The kernel that calls copy_lines(x, y, lines, x_line, y_line, first, end, constants of the
    record) for rows `first` to `end` of some `lines`, x_line and y_line bytes apart.
    """

    @kernel(layout, name)
    def body(a, tile):
        values = constants(a)
        inner, x_line, y_line = a.inner, a.inner_input, a.inner_output
        # Divisions take as long as a short copy.
        group, first, row_end = tile, 0, a.rows
        if row_end >= 2 * a.part:
            parts = row_end // a.part
            group, number = tile // parts, tile % parts
            first = number * a.part
            row_end = row_end if number == parts - 1 else first + a.part
        line = group * a.tile_lines
        end = min(line + a.tile_lines, a.lines)
        while line < end:
            at, outer = 0, line
            if inner > 1:
                at, outer = line % inner, line // inner
            x, y = offsets_of(a.axes, a.rank, outer)
            x, y = x + a.input + at * x_line, y + a.output + at * y_line
            lines = min(inner - at, end - line)
            copy_lines(x, y, lines, x_line, y_line, first, row_end, values)
            line += lines
        return 0


# Runs

pairs2, pairs4, pairs8, pairs16, pairs32, pairs64 = (
    lines_of((1, pair(width))) for width in (2, 4, 8, 16, 32, 64)
)


@helper
def runs(x, y, lines, x_line, y_line, first, end, values):
    """Up to 128 bytes in two pieces, which may overlap, of a size that the compiler knows.

    Single elements have kernels of their own.
    """
    x_step, y_step, length = values
    rows, x, y = end - first, x + first * x_step, y + first * y_step
    if length > 128:
        for _ in range(lines):
            for row in range(rows):
                copy_long(y + row * y_step, x + row * x_step, length)
            x, y = x + x_line, y + y_line
    elif length > 64:
        rest = length - 64
        pairs64(x, y, lines, x_line, y_line, rows, x_step, y_step, rest, rest)
    elif length > 32:
        rest = length - 32
        pairs32(x, y, lines, x_line, y_line, rows, x_step, y_step, rest, rest)
    elif length > 16:
        rest = length - 16
        pairs16(x, y, lines, x_line, y_line, rows, x_step, y_step, rest, rest)
    elif length > 8:
        rest = length - 8
        pairs8(x, y, lines, x_line, y_line, rows, x_step, y_step, rest, rest)
    elif length > 4:
        rest = length - 4
        pairs4(x, y, lines, x_line, y_line, rows, x_step, y_step, rest, rest)
    else:
        rest = length - 2
        pairs2(x, y, lines, x_line, y_line, rows, x_step, y_step, rest, rest)


run_constants = helper(lambda a: (a.input_step, a.output_step, a.bytes))
through_lines("copy_runs", COPY, run_constants, runs)


# Single elements


def block_lines(size: int, block: Any, *details: int, longest: int = 16) -> Any:
    """Lines of blocks of 16 bytes (or `longest`) where they fit, of 8, or of single elements."""
    element = ir.IntType(8 * size)
    return lines_of(*((n, block(element, n, *details)) for n in (longest // size, 8 // size, 1)))


def elements(size):
    """Rows of one element each; dense ones in blocks where the input has a simple step."""
    still = block_lines(size, spread, longest=64)
    minus_one = block_lines(size, backwards, longest=32)
    two, three, four = (block_lines(size, deinterleaved, n, 1) for n in (2, 3, 4))
    any_step = lines_of((1, same(ir.IntType(8 * size), 1)))

    @helper
    def copy(x, y, lines, x_line, y_line, first, end, values):
        step, y_step, _ = values
        count, x, y = end - first, x + first * step, y + first * y_step
        if y_step != size:
            any_step(x, y, lines, x_line, y_line, count, step, y_step, 0, 0)
        elif step == 0:
            still(x, y, lines, x_line, y_line, count, step, size, 0, 0)
        elif step == -size:
            minus_one(x, y, lines, x_line, y_line, count, step, size, 0, 0)
        elif step == 2 * size:
            two(x, y, lines, x_line, y_line, count, step, size, 0, 0)
        elif step == 3 * size:
            three(x, y, lines, x_line, y_line, count, step, size, 0, 0)
        elif step == 4 * size:
            four(x, y, lines, x_line, y_line, count, step, size, 0, 0)
        else:
            any_step(x, y, lines, x_line, y_line, count, step, size, 0, 0)

    return copy


# Matrices


def interleave(size):
    """Chosen for matrices of 2 to 4 long lines that become one."""
    two, three, four = (block_lines(size, interleaved, n) for n in INTERLEAVED_LINES)

    @helper
    def copy(x, y, lines, x_line, y_line, first, end, values):
        columns, step, row_step = values
        count, x, y = end - first, x + first * size, y + first * row_step
        if columns == 2:
            two(x, y, lines, x_line, y_line, count, size, row_step, step, 0)
        elif columns == 3:
            three(x, y, lines, x_line, y_line, count, size, row_step, step, 0)
        else:
            four(x, y, lines, x_line, y_line, count, size, row_step, step, 0)

    return copy


def deinterleave(size):
    """Chosen for a long line that becomes 2 to 4."""
    two, three, four = (block_lines(size, deinterleaved, n, n) for n in INTERLEAVED_LINES)

    @helper
    def copy(x, y, lines, x_line, y_line, first, end, values):
        count, step, row_step = values
        rows = end - first
        if rows == 2:
            two(x, y, lines, x_line, y_line, count, step, size, 0, row_step)
        elif rows == 3:
            three(x, y, lines, x_line, y_line, count, step, size, 0, row_step)
        else:
            four(x, y, lines, x_line, y_line, count, step, size, 0, row_step)

    return copy


def transpose(size):
    """In squares, of which the last overlap others; a matrix narrower than a square: by elements.

    A strip is as wide as two lines of the cache, of the input and of the output.
    """
    element, side, strip = ir.IntType(8 * size), SIDE[size], STRIP_BYTES // size
    half = side // 2
    whole_squares, half_squares = (lines_of((n, transposed(element, n))) for n in (side, half))
    single = lines_of((1, same(element, 1)))

    @helper
    def through(x, y, first, end, columns, x_step, y_step, squares, side):
        for row in range(first, end, strip):
            for column in range(0, columns, strip):
                left = min(column, columns - side)
                count = min(column + strip, columns) - left
                x0, y0 = x + left * x_step, y + left * size
                for i in range(row, min(row + strip, end), side):
                    i = min(i, end - side)
                    x1, y1 = x0 + i * size, y0 + i * y_step
                    squares(x1, y1, 1, 0, 0, count, x_step, size, x_step, y_step)

    @helper
    def copy(x, y, lines, x_line, y_line, first, end, values):
        columns, x_step, y_step = values
        rows = end - first
        for _ in range(lines):
            if min(rows, columns) >= side:
                through(x, y, first, end, columns, x_step, y_step, whole_squares, side)
            elif min(rows, columns) >= half:
                through(x, y, first, end, columns, x_step, y_step, half_squares, half)
            else:
                x0, y0 = x + first * size, y + first * y_step
                single(x0, y0, rows, size, y_step, columns, x_step, size, 0, 0)
            x, y = x + x_line, y + y_line

    return copy


matrix_constants = helper(lambda a: (a.columns, a.column_step, a.row_step))

for _size in SIDE:
    through_lines(f"copy_b{8 * _size}", COPY, run_constants, elements(_size))
    for _name, _make in (
        ("transpose", transpose),
        ("interleave", interleave),
        ("deinterleave", deinterleave),
    ):
        through_lines(f"{_name}_b{8 * _size}", TRANSPOSE, matrix_constants, _make(_size))
