"""Element-wise kernels of two inputs that are broadcast against each other."""

from nnapi_shim.drivers.cpu.codegen.numeric import i64
from nnapi_shim.drivers.cpu.toolchain.kernel import inlined, kernel


@inlined
def share_of(tile, length, part, rows, all_rows):
    """(first row, end, number of the part in its rows, elements of it) of a tile."""
    parts = (length + part - 1) // part
    number, row = tile % parts, tile // parts * rows
    return row, min(row + rows, all_rows), number, min(part, length - number * part)


@inlined
def offsets_of(row, size, step_0, step_1, outer, outer_count):
    """Offset of a row in each input, in elements; see lowering/broadcasting.py."""
    axes = i64(outer)
    at, rest = row % size, row // size
    at_0, at_1 = at * step_0, at * step_1
    for axis in range(0, 3 * outer_count, 3):
        at, rest = rest % axes[axis], rest // axes[axis]
        at_0 += at * axes[axis + 1]
        at_1 += at * axes[axis + 2]
    return at_0, at_1


def filler(read, write, formula):
    """The function that computes a row; moves0, moves1: whether the inputs move along it."""

    @inlined
    def fill(x0, x1, y, moves0, moves1, count, values):
        if moves0 and moves1:
            for i in range(count):
                write(y, i, formula(read(x0, i), read(x1, i), values))
        elif moves0:
            still = read(x1, 0)
            for i in range(count):
                write(y, i, formula(read(x0, i), still, values))
        else:
            still = read(x0, 0)
            for i in range(count):
                write(y, i, formula(still, read(x1, i), values))

    return fill


def pairwise(name, layout, read, write, sizes, constants, formula):
    """The kernel output = formula(element of input0, element of input1, constants of the record).

    lowering/broadcasting.py describes the order. sizes: bytes of an element of the inputs and of
    the output.
    """
    size, output_size = sizes
    fill = filler(read, write, formula)

    @kernel(layout, name)
    def body(a, tile):
        values = constants(a)
        length, around = a.length, a.size
        moves0, moves1 = a.moves_0 != 0, a.moves_1 != 0
        step_0, step_1, row_bytes = a.step_0 * size, a.step_1 * size, length * output_size
        row, end, part, count = share_of(tile, length, a.part, a.rows, a.all_rows)
        y = a.output + row * row_bytes + part * a.part * output_size
        while row < end:
            # A run of rows along the axis around, where both inputs move in equal steps.
            at_0, at_1 = offsets_of(row, around, a.step_0, a.step_1, a.outer, a.outer_count)
            x0 = a.input0 + (at_0 + part * a.part_step_0) * size
            x1 = a.input1 + (at_1 + part * a.part_step_1) * size
            run = min(end - row, around - row % around)
            row += run
            for _ in range(run):
                fill(x0, x1, y, moves0, moves1, count, values)
                x0, x1, y = x0 + step_0, x1 + step_1, y + row_bytes
        return 0


def without_constants(function):
    """The formula function(x, y)."""

    @inlined
    def formula(x, y, nothing):
        return function(x, y)

    return formula
