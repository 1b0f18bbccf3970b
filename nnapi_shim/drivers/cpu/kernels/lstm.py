"""LSTM: one direction of a sequence, step by step; see ../lowering/lstm.py for what comes before.

In a step, the state of all batches of a tile is multiplied with the recurrent weights first, by the
micro-kernels of the matrix product; then each batch goes through its gates, which are rows of
`units` numbers in scratch memory. A tile's scratch: float32 output state [tile_batches, outputs],
cell state, result and the four gates [tile_batches, units].
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late
from nnapi_shim.drivers.cpu.codegen.numeric import add_any_order_f64, clamp, copy_bytes, u8
from nnapi_shim.drivers.cpu.codegen.recurrent import (
    COLUMNS,
    INFINITY,
    ONE,
    activate,
    add,
    multiply,
    panel_bytes,
    read,
    read_back,
    write,
)
from nnapi_shim.drivers.cpu.lowering.lstm import RECURRENCE
from nnapi_shim.drivers.cpu.lowering.lstm_rounds import ROUND
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel
from nnapi_shim.operations.rnn import SIGMOID

INPUT, FORGET, CELL, OUTPUT, RESULT = range(5)
"""The gates, and what comes after them."""
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
def of_gate(gate, into, forget, cell, out):
    """The one of four values that belongs to a gate."""
    if gate == INPUT:
        return into
    if gate == FORGET:
        return forget
    return cell if gate == CELL else out


@helper
def update(state, into, forget, candidate, count, first_gate, clip):
    """state: float32[count], in place: forget * state + into * candidate, within the bound."""
    for n in range(count):
        f = read_back(forget, n)
        i = ONE - f if first_gate == FORGET else read_back(into, n)
        new = f * read_back(state, n) + i * read_back(candidate, n)
        write(state, n, clamp(new, -clip, clip))


@helper
def add_peephole(x, peephole, state, count):
    """x: float32[count], in place: x + peephole * state."""
    for n in range(count):
        write(x, n, read_back(x, n) + read(peephole, n) * read_back(state, n))


@helper
def finish_gate(a, gate, x, state, count):
    """x: float32[count], in place: add the peephole from the cell state, then layer-normalize."""
    peephole = of_gate(gate, a.peephole_input, a.peephole_forget, 0, a.peephole_output)
    if peephole != 0:
        add_peephole(x, peephole, state, count)
    gain = of_gate(gate, a.gain_input, a.gain_forget, a.gain_cell, a.gain_output)
    if gain != 0:
        bias = of_gate(gate, a.bias_input, a.bias_forget, a.bias_cell, a.bias_output)
        normalise(x, count, gain, bias)


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
    row_bytes = (4 - first_gate) * unit_bytes
    copy_bytes(h, a.output_state_in + first * output_bytes, rows * output_bytes)
    copy_bytes(cells, a.cell_state_in + first * unit_bytes, rows * unit_bytes)
    work = 0
    for step in range(a.steps):
        time = a.steps - 1 - step if a.backward else step
        for gate in range(first_gate, RESULT):
            work += rows * units * (outputs + 16)
            if work >= 16 * LONG:
                work = 0
                if late(deadline):
                    return DEADLINE
            weights = of_gate(
                gate, a.recurrent_input, a.recurrent_forget, a.recurrent_cell, a.recurrent_output
            )
            sums = gates + gate * rows * unit_bytes
            multiply(
                h,
                sums,
                rows,
                outputs,
                units,
                weights,
                a.output_table,
                a.tile_rows,
                INFINITY,
                a.halved,
            )
        for row in range(rows):
            at = time * a.step_rows + (first + row) * a.batch_rows
            state = cells + row * unit_bytes
            for gate in range(first_gate, RESULT + 1):
                x = gates + (gate * rows + row) * unit_bytes
                if gate == OUTPUT:
                    into, forget = gates + row * unit_bytes, gates + (rows + row) * unit_bytes
                    candidate = gates + (CELL * rows + row) * unit_bytes
                    update(state, into, forget, candidate, units, first_gate, a.cell_clip)
                if gate == RESULT:
                    copy_bytes(x, state, unit_bytes)
                else:
                    offset = at * row_bytes + (gate - first_gate) * unit_bytes
                    add(x, a.products + offset, units)
                    if a.aux_products != 0:
                        add(x, a.aux_products + offset, units)
                    finish_gate(a, gate, x, state, units)
                is_sigmoid = gate != CELL and gate != RESULT
                activate(x, units, SIGMOID if is_sigmoid else a.activation)
            out, result = gates + (OUTPUT * rows + row) * unit_bytes, results + row * unit_bytes
            for n in range(units):
                write(result, n, read_back(result, n) * read_back(out, n))
        if a.projection != 0:
            weights, table, bound = a.projection, a.unit_table, a.proj_clip
            multiply(results, h, rows, units, outputs, weights, table, a.tile_rows, bound, a.halved)
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
def lstm_round(a, tile):
    """output: float32[units]; a tile is the units of a panel, with all of their gates."""
    first, units = tile * COLUMNS, a.units
    count = min(COLUMNS, units - first)
    offset, unit_bytes, state = first * 4, units * 4, a.state
    panel = tile * panel_bytes(units, a.halved)
    first_gate = INPUT if a.recurrent_input != 0 else FORGET
    cells = a.cells + offset
    if a.first_cells != 0:
        copy_bytes(cells, a.first_cells + offset, count * 4)
    into, forget = a.gates + offset, a.gates + unit_bytes + offset
    candidate, result = forget + unit_bytes, a.gates + RESULT * unit_bytes + offset
    for gate in range(first_gate, RESULT):
        x = into + gate * unit_bytes
        weights = of_gate(
            gate, a.recurrent_input, a.recurrent_forget, a.recurrent_cell, a.recurrent_output
        )
        multiply(state, x, 1, units, count, weights + panel, a.table, 1, INFINITY, a.halved)
        if gate == OUTPUT:
            update(cells, into, forget, candidate, count, first_gate, a.cell_clip)
        above = (gate - first_gate) * unit_bytes + offset
        add(x, a.products + above, count)
        if a.aux_products != 0:
            add(x, a.aux_products + above, count)
        peephole = of_gate(gate, a.peephole_input, a.peephole_forget, 0, a.peephole_output)
        if peephole != 0:
            add_peephole(x, peephole + offset, cells, count)
        activate(x, count, a.activation if gate == CELL else SIGMOID)
    copy_bytes(result, cells, count * 4)
    activate(result, count, a.activation)
    out, target = candidate + unit_bytes, a.next_state + offset
    for n in range(count):
        write(target, n, read_back(result, n) * read_back(out, n))
    copy_bytes(a.output + offset, target, count * 4)
    if a.output_state_out != 0:
        copy_bytes(a.output_state_out + offset, target, count * 4)
    if a.cell_state_out != 0:
        copy_bytes(a.cell_state_out + offset, cells, count * 4)
    return 0
