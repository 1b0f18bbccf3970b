"""Loops of reductions: of rows, contiguous elements, and of lanes, side by side in memory.

input: [outer, repeats, rows, length, inner], output: [outer, rows, inner]; lowering/reduction.py
defines the axes. `repeats` and `length` are reduced.
"""

from typing import Any, NamedTuple

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, STRETCH, late, late_after
from nnapi_shim.drivers.cpu.codegen.elements import READ_BACK, WRITE, part
from nnapi_shim.drivers.cpu.lowering.reduction import LANE_ROOM, LANES
from nnapi_shim.drivers.cpu.program.record import Record
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, inlined, kernel

SIZE = {"f32": 4, "b8": 1}
LANE_BYTES = {"f64": 8, "f32": 4, "u8": 1}


class Reduction(NamedTuple):
    """The parts of a reduction that both loops share.

    variant: suffix of the kernels, the type of input and output.
    constants(a): values of the record, passed to all other functions. start(constants): the result
    of no elements. finish(address, index, result, constants): stores a result.
    """

    name: str
    record: Record
    variant: str
    constants: Any
    start: Any
    finish: Any


def reduce_rows(reduction, reduce_row, join):
    """The kernel for inner = 1. A tile is tile_blocks outputs.

    reduce_row(address, length, constants) -> the result of a row; join(result, result) -> result.
    """
    name, layout, variant, constants, start, finish = reduction
    size = SIZE[variant]

    @kernel(layout, f"{name}_{variant}")
    def body(a, tile, deadline):
        repeats, rows, length = a.repeats, a.rows, a.length
        values = constants(a)
        is_long, work = repeats * length >= LONG, 0
        first = tile * a.tile_blocks
        image, row = first // rows, first % rows
        for at in range(first, min(first + a.tile_blocks, a.outer * rows)):
            result = start(values)
            x = a.input + (image * repeats * rows + row) * length * size
            row += 1
            if row == rows:
                image, row = image + 1, 0
            for _ in range(repeats):
                if is_long:
                    is_late, work = late_after(work + length, deadline)
                    if is_late:
                        return DEADLINE
                result = join(result, reduce_row(x, length, values))
                x += rows * length * size
            finish(a.output, at, result, values)
        return 0


@helper
def no_repair(lanes, y, count, x, repeats, length, pitches, deadline):
    """For reductions whose outputs need no second pass."""
    return True


def reduce_lanes(reduction, read, stored, join, join_four, repair=no_repair):
    """The kernel for inner > 1. A tile is tile_blocks blocks of up to a.block lanes.

    read(address, index, constants) -> an element; stored: type of the partial results in `lanes`;
    join(result, element) and join(result, result) -> result; join_four(result, four elements) ->
    result; repair(lanes, output, count, input, repeats, length, pitches of both in bytes, deadline)
    may change outputs, and returns False after the deadline.
    """
    name, layout, variant, constants, start, finish = reduction
    size, lane_bytes = SIZE[variant], LANE_BYTES[stored]
    read_lane, write_lane = READ_BACK[stored], WRITE["b8" if stored == "u8" else stored]

    @inlined
    def join_four_rows(lanes, x, pitch, count, values):
        x1, x2, x3 = x + pitch, x + 2 * pitch, x + 3 * pitch
        for c in range(count):
            so_far = read_lane(lanes, c)
            four = read(x, c, values), read(x1, c, values), read(x2, c, values), read(x3, c, values)
            write_lane(lanes, c, join_four(so_far, four))

    @kernel(layout, f"{name}_lanes_{variant}")
    def body(a, tile, deadline):
        repeats, rows, length, inner, fold = a.repeats, a.rows, a.length, a.inner, a.fold
        values = constants(a)
        lanes = a.lanes + tile * LANES * LANE_ROOM
        pitch, steps, rest = fold * inner * size, length // fold, length % fold * inner
        blocks = (inner + a.block - 1) // a.block
        for block in range(*part(a.outer * rows * blocks, a.tile_blocks, tile)):
            at, lane = block // blocks, block % blocks * a.block
            wanted = min(a.block, inner - lane)
            count = fold * inner if fold > 1 else wanted
            for c in range(count):
                write_lane(lanes, c, start(values))
            source = a.input + (at // rows * repeats * rows + at % rows) * length * inner * size
            source += lane * size
            repeat_pitch = rows * length * inner * size
            work = 0
            for repeat in range(repeats):
                x = source + repeat * repeat_pitch
                for _ in range(steps // 4):
                    work += 1
                    if work % STRETCH == 0 and late(deadline):
                        return DEADLINE
                    join_four_rows(lanes, x, pitch, count, values)
                    x += 4 * pitch
                for left in range(steps % 4, -1, -1):  # single steps, then the incomplete one
                    work += 1
                    if work % STRETCH == 0 and late(deadline):
                        return DEADLINE
                    for c in range(count if left > 0 else rest):
                        write_lane(lanes, c, join(read_lane(lanes, c), read(x, c, values)))
                    x += pitch
            while fold > 1:
                fold //= 2
                other = lanes + fold * inner * lane_bytes
                for c in range(fold * inner):
                    write_lane(lanes, c, join(read_lane(lanes, c), read_lane(other, c)))
            fold = a.fold
            y = a.output + (at * inner + lane) * size
            for c in range(wanted):
                finish(y, c, read_lane(lanes, c), values)
            pitches = repeat_pitch, inner * size
            if not repair(lanes, y, wanted, source, repeats, length, pitches, deadline):
                return DEADLINE
        return 0
