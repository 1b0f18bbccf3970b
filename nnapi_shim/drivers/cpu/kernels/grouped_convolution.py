"""Steps before the matrix product of grouped convolutions and of those with few channels."""

from typing import Any

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, late_after
from nnapi_shim.drivers.cpu.codegen.numeric import i16, u8
from nnapi_shim.drivers.cpu.codegen.stored_bytes import centered
from nnapi_shim.drivers.cpu.kernels.half_precision import share
from nnapi_shim.drivers.cpu.kernels.packing import part_of
from nnapi_shim.drivers.cpu.lowering.convolution import JOIN_GROUPS
from nnapi_shim.drivers.cpu.lowering.im2row import FOLD_FILTER, PAD_ROWS
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel


@kernel(JOIN_GROUPS)
def join_groups(a, tile, deadline):
    """filter: [columns, taps, bytes], output: [columns, taps, joined, bytes].

    A column belongs to a group of group_columns, and of `joined` groups it sees its own; the rest
    is the byte `fill`.
    """
    length, wide = a.bytes, a.joined * a.bytes
    x, y = u8(a.filter), u8(a.output)
    work = 0
    for column in range(a.columns):
        is_late, work = late_after(work + a.taps * wide, deadline)
        if is_late:
            return DEADLINE
        own = column // a.group_columns % a.joined * length
        for tap in range(column * a.taps, (column + 1) * a.taps):
            for i in range(wide):
                y[tap * wide + i] = a.fill
            for i in range(length):
                y[tap * wide + own + i] = x[tap * length + i]
    return 0


def pad_rows(name: str, pointer: Any, size: int, element: Any) -> None:
    """input: [in_rows, row]; output: [rows, pitch], `fill` outside of the input. element(byte,
    flip, zero): of the output.
    """

    @kernel(PAD_ROWS, name)
    def copy(a, tile):
        row, pitch, fill, flip, zero = a.row, a.pitch, a.fill, a.flip, a.zero
        before = min(a.before, pitch)
        most = min(row, pitch - before)
        first, end = share(a.rows, a.parts, tile)
        for at in range(first, end):
            above = at - a.top
            wanted = most if 0 <= above < a.in_rows else 0
            x, y = u8(a.input + above * row), pointer(a.output + at * pitch * size)
            for i in range(before):
                y[i] = fill
            inside = pointer(a.output + (at * pitch + before) * size)
            for i in range(wanted):
                inside[i] = element(x[i], flip, zero)
            for i in range(before + wanted, pitch):
                y[i] = fill
        return 0


pad_rows("pad_rows_8", u8, 1, helper(lambda byte, flip, zero: byte))
pad_rows("pad_rows_flipped", u8, 1, helper(lambda byte, flip, zero: byte ^ flip))
pad_rows("pad_rows_s16", i16, 2, centered)


@kernel(FOLD_FILTER)
def fold_filter(a, tile, deadline):
    """filter: [columns, rows, row]; output: [joined, columns, rows, parts, depth].

    Of the depth a column of pixel p has its filter row from p * step on, the rest is `fill`. A
    weight less the zero point becomes int8, with what does not fit in further parts.
    """
    row, depth, flip, zero, fill = a.row, a.depth, a.flip, a.zero, a.fill
    count = a.columns * a.rows
    x, y = u8(a.filter), u8(a.output)
    work = at = 0
    for pixel in range(a.joined):
        for filter_row in range(count):
            is_late, work = late_after(work + a.parts * depth, deadline)
            if is_late:
                return DEADLINE
            for part in range(a.parts):
                for i in range(depth):
                    y[at + i] = fill
                for i in range(row):
                    weight = int(centered(x[filter_row * row + i], flip, zero))
                    y[at + pixel * a.step + i] = part_of(weight, part) & 255
                at += depth
    return 0
