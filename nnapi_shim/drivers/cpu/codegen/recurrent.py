"""Helpers of the recurrent kernels: products with the state, activations."""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.elements import READ, READ_BACK, WRITE
from nnapi_shim.drivers.cpu.codegen.exponential import logistic_of, tanh_of
from nnapi_shim.drivers.cpu.codegen.gemm_tile import tile as micro_kernel
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.mac_schemes import bytes_to_float32, float32, halves
from nnapi_shim.drivers.cpu.codegen.numeric import SIGN, bits_of, clamp
from nnapi_shim.drivers.cpu.codegen.simd import mapping
from nnapi_shim.drivers.cpu.lowering.packing import FLOAT_HEAD_BYTES, SCALED_HEAD_BYTES
from nnapi_shim.drivers.cpu.toolchain.kernel import helper
from nnapi_shim.operations.rnn import RELU, RELU1, RELU6, SIGMOID, SIGN_BIT, TANH

COLUMNS = TILING.columns
CHAINS = 4
"""Partial sums of a single row, as in gemm.py."""

run_row = micro_kernel(TILING, float32(), 1, CHAINS)
run_rows = micro_kernel(TILING, float32(), TILING.few_rows)
"""The micro-kernels: for a single batch, and for as many as there are in a tile of rows."""
run_halved = micro_kernel(TILING, halves(), 1, CHAINS) if ISA.tier.float16 else run_row
"""For a single batch, of weights that are float16."""
run_bytes = (
    micro_kernel(TILING, bytes_to_float32(), 1, CHAINS) if ISA.tier.byte_weights else run_row
)
"""For a single batch, of weights that are int8."""

ZERO, ONE, SIX = np.float32(0), np.float32(1), np.float32(6)
INFINITY = np.float32(np.inf)

all_logistic, all_tanh = mapping(lambda x, _: logistic_of(x)), mapping(lambda x, _: tanh_of(x))

read, read_back, write = READ["f32"], READ_BACK["f32"], WRITE["f32"]


@helper
def activate(x, count, activation):
    """x: float32[count], in place."""
    if activation == SIGMOID:
        all_logistic(x, x, count, ZERO)
    elif activation == TANH:
        all_tanh(x, x, count, ZERO)
    elif activation == SIGN_BIT:
        for n in range(count):
            write(x, n, ONE if bits_of(read_back(x, n)) & SIGN else ZERO)
    elif activation == RELU or activation == RELU1 or activation == RELU6:
        low = -ONE if activation == RELU1 else ZERO
        high = INFINITY if activation == RELU else (ONE if activation == RELU1 else SIX)
        for n in range(count):
            write(x, n, clamp(read_back(x, n), low, high))


INPUT, FORGET, CELL, OUTPUT, RESULT = range(5)
"""The gates of an LSTM, and what comes after them."""


@helper
def of_gate(gate, into, forget, cell, out):
    """The one of four values that belongs to a gate."""
    if gate == INPUT:
        return into
    if gate == FORGET:
        return forget
    return cell if gate == CELL else out


@helper
def add(x, y, count):
    """x: float32[count], in place: x + y."""
    for n in range(count):
        write(x, n, read_back(x, n) + read(y, n))


@helper
def panel_bytes(depth, weight_bytes):
    """Bytes of COLUMNS columns of packed weights."""
    head = SCALED_HEAD_BYTES if weight_bytes == 1 else FLOAT_HEAD_BYTES
    return COLUMNS * (head + depth * weight_bytes)


@helper
def multiply(x, y, rows, depth, columns, weights, table, tile_rows, bound, weight_bytes):
    """x: float32[rows, depth]; y: float32[rows, columns] = x * weights + bias, within +-bound.

    weights: packed, in `weight_bytes` each: float32, float16 or int8. table: offsets of tile_rows
    rows of x, then those for a tile with fewer rows.
    """
    size = panel_bytes(depth, weight_bytes)
    for column in range(0, columns, COLUMNS):
        panel = weights + column // COLUMNS * size
        width = min(COLUMNS, columns - column)
        for row in range(0, rows, tile_rows):
            count = min(tile_rows, rows - row)
            offsets = table if count == tile_rows else table + tile_rows * 8
            source, target = x + row * depth * 4, y + (row * columns + column) * 4
            arguments = (offsets, 1, depth, source, 0, panel, target, columns * 4, count, width) + (
                0,
                0,
                0,
                0,
                -bound,
                bound,
            )
            if weight_bytes == 1:
                run_bytes(*arguments)
            elif weight_bytes == 2:
                run_halved(*arguments)
            elif tile_rows == 1:
                run_row(*arguments)
            else:
                run_rows(*arguments)
