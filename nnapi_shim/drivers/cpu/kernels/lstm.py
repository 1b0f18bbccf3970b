"""LSTM: one direction of a sequence, step by step; see ../lowering/lstm.py for what comes before.

In a step, the state of all batches of a tile is multiplied with the recurrent weights first, by the
micro-kernels of the matrix product; then each batch goes through its gates, which are rows of
`units` numbers in scratch memory. A tile's scratch: float32 output state [tile_batches, outputs],
cell state, result and the four gates [tile_batches, units].
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late_after
from nnapi_shim.drivers.cpu.codegen.float_columns import (
    LANES,
    PANEL_COLUMNS,
    row_times_columns,
    update_cell,
)
from nnapi_shim.drivers.cpu.codegen.gates import CELL, FORGET, INPUT, OUTPUT, RESULT, of_gate
from nnapi_shim.drivers.cpu.codegen.numeric import add_any_order_f64, clamp, copy_bytes, f32, u8
from nnapi_shim.drivers.cpu.codegen.recurrent import (
    INFINITY,
    ONE,
    activate,
    add,
    bytes_of_panel,
    columns_of_panel,
    multiply,
    prepare,
    read,
    read_back,
    write,
)
from nnapi_shim.drivers.cpu.lowering.lstm import RECURRENCE
from nnapi_shim.drivers.cpu.lowering.lstm_joined import JOINED, PACK_CELL
from nnapi_shim.drivers.cpu.lowering.lstm_rounds import ROUND
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel
from nnapi_shim.operations.rnn import SIGMOID

FLAT = 1e-8
"""Added to the variance in layer normalisation."""


@helper
def normalise(x, count, gain, bias):
    """x: float32[count], in place: (x - mean) / deviation * gain + bias; sums are float64."""
    total = np.float64(0)
    for n in range(count):
        total = add_any_order_f64(total, np.float64(read_back(x, n)))
    mean = np.float32(total / count)
    total = np.float64(0)
    for n in range(count):
        deviation = np.float64(read_back(x, n) - mean)
        total = add_any_order_f64(total, deviation * deviation)
    scale = np.float32(1 / np.sqrt(total / count + FLAT))
    for n in range(count):
        write(x, n, (read_back(x, n) - mean) * scale * read(gain, n) + read(bias, n))


@helper
def update(state, into, forget, candidate, count, first_gate, clip):
    """state: float32[count], in place: forget * state + into * candidate, within the bound."""
    for n in range(count):
        f = read_back(forget, n)
        i = ONE - f if first_gate == FORGET else read_back(into, n)
        new = f * read_back(state, n) + i * read_back(candidate, n)
        write(state, n, clamp(new, -clip, clip))


@helper
def add_peephole(a, gate, x, offset, state, count):
    """x: float32[count], in place: x + peephole * state, if the gate has a peephole."""
    peephole = of_gate(gate, a.peephole_input, a.peephole_forget, 0, a.peephole_output)
    if peephole != 0:
        for n in range(count):
            write(x, n, read_back(x, n) + read(peephole + offset, n) * read_back(state, n))


@helper
def normalise_gate(a, gate, x, count):
    """Layer-normalize, if the gate has a gain."""
    gain = of_gate(gate, a.gain_input, a.gain_forget, a.gain_cell, a.gain_output)
    if gain != 0:
        bias = of_gate(gate, a.bias_input, a.bias_forget, a.bias_cell, a.bias_output)
        normalise(x, count, gain, bias)


@helper
def recurrent_to(a, gate):
    """The weights of the output state."""
    return of_gate(
        gate, a.recurrent_input, a.recurrent_forget, a.recurrent_cell, a.recurrent_output
    )


@helper
def finish_gate(a, gate, x, products, offset, state, count):
    """x: float32[count], sums of products with the state; in place: the rest of the gate but layer
    normalization and activation. products, offset: bytes before those of this gate, and before the
    peephole's first unit.
    """
    add(x, a.products + products, count)
    if a.aux_products != 0:
        add(x, a.aux_products + products, count)
    add_peephole(a, gate, x, offset, state, count)


@helper
def result_of(y, out, state, count, activation):
    """y: float32[count] = out * activation(state)."""
    copy_bytes(y, state, count * 4)
    activate(y, count, activation)
    for n in range(count):
        write(y, n, read_back(y, n) * read_back(out, n))


@helper
def finish_row(a, at, row, rows, gates, state, first_gate):
    """One batch in a step: its gates from their sums, its cell state, and its result."""
    units, unit_bytes = a.units, a.units * 4
    into, forget = gates + row * unit_bytes, gates + (rows + row) * unit_bytes
    candidate, out = forget + rows * unit_bytes, forget + 2 * rows * unit_bytes
    for gate in range(first_gate, RESULT):
        x = gates + (gate * rows + row) * unit_bytes
        if gate == OUTPUT:
            update(state, into, forget, candidate, units, first_gate, a.cell_clip)
        products = (at * (4 - first_gate) + gate - first_gate) * unit_bytes
        finish_gate(a, gate, x, products, 0, state, units)
        normalise_gate(a, gate, x, units)
        activate(x, units, a.activation if gate == CELL else SIGMOID)
    result_of(out + rows * unit_bytes, out, state, units, a.activation)


@kernel(RECURRENCE)
def lstm(a, tile, deadline):
    """output: float32 rows; a tile is tile_batches batches, all of their steps."""
    first = tile * a.tile_batches
    rows = min(a.tile_batches, a.batches - first)
    units, outputs = a.units, a.outputs
    unit_bytes, output_bytes = units * 4, outputs * 4
    h = a.scratch + tile * a.tile_batches * (outputs + 6 * units) * 4
    cells = h + rows * output_bytes
    gates = cells + rows * unit_bytes
    results = gates + RESULT * rows * unit_bytes
    first_gate = INPUT if a.recurrent_input != 0 else FORGET
    copy_bytes(h, a.output_state_in + first * output_bytes, rows * output_bytes)
    copy_bytes(cells, a.cell_state_in + first * unit_bytes, rows * unit_bytes)
    work = 0
    for step in range(a.steps):
        time = a.steps - 1 - step if a.backward else step
        prepare(h, outputs, a.weight_bytes, a.digits, a.capacity)
        for gate in range(first_gate, RESULT):
            is_late, work = late_after(work + rows * units * (outputs + 16), deadline, 16 * LONG)
            if is_late:
                return DEADLINE
            sums, weights = gates + gate * rows * unit_bytes, recurrent_to(a, gate)
            table, bound = a.output_table, INFINITY
            if multiply(
                h, sums, rows, outputs, units, weights, table, a.tile_rows, bound, a.weight_bytes,
                a.digits, a.capacity, deadline,
            ):  # fmt: skip
                return DEADLINE
        for row in range(rows):
            at = time * a.step_rows + (first + row) * a.batch_rows
            finish_row(a, at, row, rows, gates, cells + row * unit_bytes, first_gate)
        if a.projection != 0:
            weights, table, bound = a.projection, a.unit_table, a.proj_clip
            prepare(results, units, a.weight_bytes, a.digits, a.capacity)
            if multiply(
                results, h, rows, units, outputs, weights, table, a.tile_rows, bound,
                a.weight_bytes, a.digits, a.capacity, deadline,
            ):  # fmt: skip
                return DEADLINE
        else:
            for row in range(rows):
                copy_bytes(h + row * output_bytes, results + row * unit_bytes, output_bytes)
        for row in range(rows):
            at = time * a.step_rows + (first + row) * a.batch_rows
            copy_bytes(a.output + at * a.output_stride, h + row * output_bytes, output_bytes)
    if a.output_state_out != 0:
        copy_bytes(a.output_state_out + first * output_bytes, h, rows * output_bytes)
    if a.cell_state_out != 0:
        copy_bytes(a.cell_state_out + first * unit_bytes, cells, rows * unit_bytes)
    if a.unused != 0:
        unused = u8(a.unused + first * a.unused_bytes)
        for n in range(rows * a.unused_bytes):
            unused[n] = 0
    return 0


@kernel(ROUND)
def lstm_round(a, tile, deadline):
    """output: float32[units]; a tile is the units of a panel, with all of their gates."""
    most, units = columns_of_panel(a.weight_bytes), a.units
    if a.turned != 0:
        end = a.turned if tile < a.turned else (units + most - 1) // most + a.turned
        tile = end - 1 - tile
    first = tile * most
    count = min(most, units - first)
    offset, unit_bytes, state = first * 4, units * 4, a.state
    panel = tile * bytes_of_panel(units, a.weight_bytes)
    first_gate = INPUT if a.recurrent_input != 0 else FORGET
    cells = a.cells + offset
    if a.first_cells != 0:
        copy_bytes(cells, a.first_cells + offset, count * 4)
    into, forget = a.gates + offset, a.gates + unit_bytes + offset
    candidate, out = forget + unit_bytes, forget + 2 * unit_bytes
    for gate in range(first_gate, RESULT):
        x = into + gate * unit_bytes
        weights = recurrent_to(a, gate) + panel
        if multiply(
            state, x, 1, units, count, weights, a.table, 1, INFINITY, a.weight_bytes, a.digits,
            a.capacity, deadline,
        ):  # fmt: skip
            return DEADLINE
        if gate == OUTPUT:
            update(cells, into, forget, candidate, count, first_gate, a.cell_clip)
        products = (gate - first_gate) * unit_bytes + offset
        finish_gate(a, gate, x, products, offset, cells, count)
        activate(x, count, a.activation if gate == CELL else SIGMOID)
    target = a.next_state + offset
    result_of(target, out, cells, count, a.activation)
    copy_bytes(a.output + offset, target, count * 4)
    if a.output_state_out != 0:
        copy_bytes(a.output_state_out + offset, target, count * 4)
    if a.cell_state_out != 0:
        copy_bytes(a.cell_state_out + offset, cells, count * 4)
    return 0


@helper
def pack_part(source, target, first, units, depth, row, rows, columns):
    """target: packed columns with `rows` rows, of which those from `row` on, and of their columns
    those from `first` on, become float32[units, depth].
    """
    x = f32(source)
    for unit in range(units):
        column = first + unit
        panel = column // PANEL_COLUMNS * PANEL_COLUMNS
        width = min(PANEL_COLUMNS, columns - panel)
        packed = f32(target + 4 * (panel * rows + row * width + column - panel))
        for k in range(depth):
            packed[k * width] = x[unit * depth + k]


@kernel(PACK_CELL)
def pack_cell(a, tile):
    """The columns of a gate are those from gate * units on; columns behind the last are 0."""
    units, depth, outputs, target = a.units, a.depth, a.outputs, a.output
    columns, rows = (4 * units + LANES - 1) // LANES * LANES, 1 + depth + outputs
    packed = f32(target)
    for n in range(columns * rows):
        packed[n] = 0.0
    for gate in range(4):
        bias = of_gate(gate, a.bias_input, a.bias_forget, a.bias_cell, a.bias_output)
        direct = of_gate(gate, a.direct_input, a.direct_forget, a.direct_cell, a.direct_output)
        recurrent = recurrent_to(a, gate)
        first = gate * units
        pack_part(bias, target, first, units, 1, 0, rows, columns)
        pack_part(direct, target, first, units, depth, 1, rows, columns)
        pack_part(recurrent, target, first, units, outputs, 1 + depth, rows, columns)
    return 0


@kernel(JOINED)
def lstm_joined(a, tile, deadline):
    """As lstm, of one batch. scratch: float32 [4, units] sums of gates, output and cell state."""
    units, depth, outputs, output_bytes = a.units, a.depth, a.outputs, a.outputs * 4
    room, columns = (units + LANES - 1) // LANES * LANES, 4 * units
    cells = a.scratch
    h, gates = cells + 4 * room, cells + 8 * room
    copy_bytes(h, a.output_state_in, output_bytes)
    copy_bytes(cells, a.cell_state_in, units * 4)
    work = 0
    for step in range(a.steps):
        is_late, work = late_after(work + columns * (depth + outputs + 16), deadline, 16 * LONG)
        if is_late:
            return DEADLINE
        at = (a.steps - 1 - step if a.backward else step) * a.step_rows
        x = a.input + at * depth * 4
        row_times_columns(x, depth, h, outputs, a.weights, columns, gates)
        update_cell(gates, cells, h, units, a.cell_clip)
        copy_bytes(a.output + at * a.output_stride, h, output_bytes)
    if a.output_state_out != 0:
        copy_bytes(a.output_state_out, h, output_bytes)
    if a.cell_state_out != 0:
        copy_bytes(a.cell_state_out, cells, units * 4)
    return 0
