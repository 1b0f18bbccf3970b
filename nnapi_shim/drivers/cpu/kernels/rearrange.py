"""Transposition of matrices, and conversion between float16 and float32."""

from typing import Any

from nnapi_shim.drivers.cpu.kernels.kernel import helper, kernel
from nnapi_shim.drivers.cpu.kernels.numeric import (
    f32,
    float_to_half,
    half_to_float,
    u8,
    u16,
    u32,
)
from nnapi_shim.drivers.cpu.lowering.rearrange import CONVERT, TRANSPOSE


@helper
def share(count, parts, part):
    """First and end of a part's share of `count`."""
    return count * part // parts, count * (part + 1) // parts


BLOCK = 16
"""Side of the squares in which a matrix is transposed: their lines stay in the cache."""


def _transpose(name: str, pointer: Any, size: int) -> Any:
    def transpose(a, tile):
        rows, columns = a.rows, a.columns
        x = pointer(a.input + tile * rows * columns * size)
        y = pointer(a.output + tile * rows * columns * size)
        for row in range(0, rows, BLOCK):
            row_end = min(row + BLOCK, rows)
            for column in range(0, columns, BLOCK):
                for j in range(column, min(column + BLOCK, columns)):
                    for i in range(row, row_end):
                        y[j * rows + i] = x[i * columns + j]
        return 0

    transpose.__name__ = name
    transpose.__doc__ = f"input: uint{8 * size}[count, rows, columns]; a tile is one matrix."
    return kernel(TRANSPOSE)(transpose)


transpose_8 = _transpose("transpose_8", u8, 1)
transpose_16 = _transpose("transpose_16", u16, 2)
transpose_32 = _transpose("transpose_32", u32, 4)


@kernel(CONVERT)
def widen_f16(a, tile):
    """input: float16[count], output: float32[count]; exact."""
    x, y = u16(a.input), f32(a.output)
    first, end = share(a.count, a.parts, tile)
    for i in range(first, end):
        y[i] = half_to_float(x[i])
    return 0


@kernel(CONVERT)
def narrow_f16(a, tile):
    """input: float32[count], output: float16[count], to nearest even."""
    x, y = f32(a.input), u16(a.output)
    first, end = share(a.count, a.parts, tile)
    for i in range(first, end):
        y[i] = float_to_half(x[i])
    return 0
