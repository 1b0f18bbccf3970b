"""The matrix product behind CONV_2D and FULLY_CONNECTED: loops over tiles, see ../lowering/gemm.py.

A step's tile is a block of row tiles by a group of panels. Inside it panels are the outer loop: a
panel stays in the first-level cache while the rows of the block, which fit into the second, pass.
"""

from typing import Any

from nnapi_shim.drivers.cpu.codegen.float_environment import float_environment, round_down
from nnapi_shim.drivers.cpu.codegen.floored import is_floored
from nnapi_shim.drivers.cpu.codegen.gemm_tile import tile
from nnapi_shim.drivers.cpu.codegen.isa import BYTE_TILING, ISA, TILING
from nnapi_shim.drivers.cpu.codegen.mac_schemes import (
    byte_pairs,
    float32,
    halves,
    pairs16,
    quads8,
    shifted_words,
)
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, FLOAT
from nnapi_shim.drivers.cpu.isa.tier import Tiling
from nnapi_shim.drivers.cpu.lowering.byte_pairs import TOGETHER
from nnapi_shim.drivers.cpu.lowering.gemm import ADDING, GEMM
from nnapi_shim.drivers.cpu.toolchain.kernel import kernel

CHAINS = 4
"""Partial sums of a single row: as many additions in flight as an addition takes cycles."""


def gemm(
    name: str, arithmetic: Any, tile_rows: int, tiling: Tiling = TILING, chains: int = 1
) -> None:
    """A kernel that runs a micro-kernel over its share of the output."""
    # Some processors take half as long for half a vector.
    halves = tile_rows == tiling.odd_rows and arithmetic.element is FLOAT
    run_tiles = tile(tiling, arithmetic, tile_rows, chains, name in ADDING, halves)
    element_bytes = 4 if arithmetic.element is FLOAT else 1
    width, lanes = tiling.panel_columns(tile_rows), tiling.lanes
    may_floor = element_bytes == 1 and tiling.floors(tile_rows)

    @kernel(GEMM, name)
    def product(a, number):
        block, group = number // a.groups, number % a.groups
        first, end = block * a.block_tiles, min((block + 1) * a.block_tiles, a.row_tiles)
        environment, is_down = float_environment(), False
        prefetched = group * a.group_panels + a.prefetched
        for panel in range(group * a.group_panels, min((group + 1) * a.group_panels, a.panels)):
            columns = min(width, a.columns - panel * width)
            weights = a.filter + panel * a.panel_bytes
            ahead = weights + a.panel_bytes if panel < prefetched else 0
            if may_floor:
                padded = (columns + lanes - 1) // lanes * lanes
                is_down = round_down(environment, is_down, is_floored(weights, padded))
            image, part, left = first // a.image_tiles, first % a.image_tiles, end - first
            while left > 0:
                tiles = min(left, a.image_tiles - part)
                table = a.table + part * a.table_step
                last_table, rows = table + (tiles - 1) * a.table_step, tile_rows
                if part + tiles == a.image_tiles:
                    last_table, rows = a.tail_table, a.tail_rows
                row = image * a.image_rows + part * tile_rows
                addend = a.addend
                if addend:
                    addend += row * a.addend_stride + panel * width * element_bytes
                run_tiles(
                    table,
                    a.taps,
                    a.depth,
                    a.input + image * a.image_bytes + part * a.tile_bytes,
                    a.zero,
                    weights + image * a.image_filter,
                    a.output + row * a.output_stride + panel * width * element_bytes,
                    a.output_stride,
                    rows,
                    columns,
                    a.correction + row * a.correction_stride,
                    a.flip + panel * a.flip_step,
                    a.zero_point,
                    a.output_flip,
                    addend,
                    a.addend_stride,
                    a.addition,
                    tiles,
                    a.table_step,
                    last_table,
                    a.tile_bytes,
                    tile_rows * a.correction_stride,
                    ahead,
                    a.low,
                    a.high,
                )
                image, part, left = image + 1, 0, left - tiles
        round_down(environment, is_down, False)
        return 0


_float32 = float32()
_quantized = quads8() if BYTE_TILING.group == 4 else pairs16()
_quantized_row = quads8() if BYTE_TILING.group == 4 else pairs16(BYTE)

gemm("gemm_f32", _float32, TILING.rows)
gemm("gemm_q8", _quantized, BYTE_TILING.rows, BYTE_TILING)
# Where rows are so few that the last tile of the kernels above would be half empty.
gemm("gemm_few_f32", _float32, TILING.few_rows)
gemm("gemm_few_q8", _quantized, BYTE_TILING.few_rows, BYTE_TILING)
# Where these tiles leave the fewest rows empty, as in images of 7x7.
for _name, _arithmetic, _tiling in (
    ("gemm_odd_f32", _float32, TILING),
    ("gemm_odd_q8", _quantized, BYTE_TILING),
):
    if _tiling.odd_rows:
        _odd = _tiling._replace(vectors=_tiling.odd_vectors)
        gemm(_name, _arithmetic, _odd.odd_rows, _odd)
if ISA.tier.byte_pairs:
    for _stem, _rows in (("gemm", BYTE_TILING.rows), ("gemm_odd", BYTE_TILING.odd_rows)):
        if _rows:
            gemm(f"{_stem}_pairs_q8", byte_pairs(), _rows, BYTE_TILING)
            gemm(f"{_stem}_pairs_together_q8", byte_pairs(TOGETHER), _rows, BYTE_TILING)
            gemm(f"{_stem}_words_q8", shifted_words(), _rows, BYTE_TILING)
# One row: every weight is read once, so that the bytes of the weights count, and latency.
gemm("gemv_f32", _float32, 1, chains=CHAINS)
gemm("gemv_q8", _quantized_row, 1, BYTE_TILING, chains=CHAINS)
if ISA.tier.float16:
    gemm("gemv_half_f32", halves(), 1, chains=CHAINS)
