"""CONCATENATION: rows of bytes requantized, from one pitch to another."""

from nnapi_shim.drivers.cpu.codegen.byte_lookup import lookup_bytes_of
from nnapi_shim.drivers.cpu.lowering.joining import REQUANTIZE
from nnapi_shim.drivers.cpu.toolchain.kernel import kernel


@kernel(REQUANTIZE)
def requantize(a, tile):
    """`rows` rows of `bytes` bytes, input_step and output_step bytes apart: output = table[input].

    table: byte[256]. A tile is tile_rows rows.
    """
    count, table = a.bytes, a.table
    first = tile * a.tile_rows
    end = min(first + a.tile_rows, a.rows)
    x, y = a.input + first * a.input_step, a.output + first * a.output_step
    for _ in range(first, end):
        lookup_bytes_of(y, x, count, table)
        x, y = x + a.input_step, y + a.output_step
    return 0
