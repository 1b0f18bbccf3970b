"""Helpers of the recurrent kernels: products with the state, activations."""

import numpy as np

from nnapi_shim.drivers.cpu.codegen import digit_rows
from nnapi_shim.drivers.cpu.codegen.digit_rows import multiply_row, panel_bytes, prepare_row
from nnapi_shim.drivers.cpu.codegen.elements import READ, READ_BACK, WRITE
from nnapi_shim.drivers.cpu.codegen.exponential import logistic_of, tanh_of
from nnapi_shim.drivers.cpu.codegen.gemm_tile import tile as micro_kernel
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.mac_schemes import float32, halves
from nnapi_shim.drivers.cpu.codegen.numeric import SIGN, bits_of, clamp
from nnapi_shim.drivers.cpu.codegen.simd import mapping
from nnapi_shim.drivers.cpu.lowering.packing import FLOAT_HEAD_BYTES
from nnapi_shim.drivers.cpu.lowering.weight_format import FLOAT16, INT8
from nnapi_shim.drivers.cpu.toolchain.kernel import helper
from nnapi_shim.operations.rnn import RELU, RELU1, RELU6, SIGMOID, SIGN_BIT, TANH

COLUMNS, DIGIT_COLUMNS = TILING.columns, digit_rows.COLUMNS
CHAINS = 4
"""Partial sums of a single row, as in gemm.py."""

run_row = micro_kernel(TILING, float32(), 1, CHAINS)
run_rows = micro_kernel(TILING, float32(), TILING.few_rows)
"""The micro-kernels: for a single batch, and for as many as there are in a tile of rows."""
run_halved = micro_kernel(TILING, halves(), 1, CHAINS) if ISA.tier.float16 else run_row
"""For a single batch, of weights that are float16."""
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


@helper
def add(x, y, count):
    """x: float32[count], in place: x + y."""
    for n in range(count):
        write(x, n, read_back(x, n) + read(y, n))


@helper
def no_digits(row, target, depth, capacity):
    """As prepare_row, where weights are no bytes."""


@helper
def no_products(row, capacity, x, depth, panel, output, columns, low, high, deadline):
    """As multiply_row, where weights are no bytes."""
    return False


prepare_digits = prepare_row if ISA.tier.byte_weights else no_digits
digit_products = multiply_row if ISA.tier.byte_weights else no_products


@helper
def prepare(x, depth, weight_bytes, digits, capacity):
    """What `multiply` needs of x: float32[depth] beside it: its digits, for weights of a byte."""
    if weight_bytes == INT8:
        prepare_digits(x, digits, depth, capacity)


@helper
def columns_of_panel(weight_bytes):
    """Columns of a panel of packed weights."""
    return DIGIT_COLUMNS if weight_bytes == INT8 else COLUMNS


@helper
def bytes_of_panel(depth, weight_bytes):
    """Bytes of a panel of packed weights."""
    if weight_bytes == INT8:
        return panel_bytes(depth)
    return COLUMNS * (FLOAT_HEAD_BYTES + depth * weight_bytes)


@helper
def multiply(
    x, y, rows, depth, columns, weights, table, tile_rows, bound, weight_bytes, digits, capacity,
    deadline,
):  # fmt: skip
    """x: float32[rows, depth]; y: float32[rows, columns] = x * weights + bias, within +-bound.

    weights: packed, in `weight_bytes` each: float32, float16 or int8. table: offsets of tile_rows
    rows of x, then those for a tile with fewer rows. digits, capacity: see `prepare`. Returns
    whether the deadline has passed.
    """
    size, most = bytes_of_panel(depth, weight_bytes), columns_of_panel(weight_bytes)
    for column in range(0, columns, most):
        panel = weights + column // most * size
        width = min(most, columns - column)
        if weight_bytes == INT8:
            target = y + column * 4
            if digit_products(
                digits, capacity, x, depth, panel, target, width, -bound, bound, deadline
            ):
                return True
            continue
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
            if weight_bytes == FLOAT16:
                run_halved(*arguments)
            elif tile_rows == 1:
                run_row(*arguments)
            else:
                run_rows(*arguments)
    return False
