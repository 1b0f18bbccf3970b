"""One step of an LSTM in integers; see semantics.md 11.5 and 11.6 for the order of the roundings.

A tile is a batch. Its activations are widened to int16 without their zero point first, so that a
sum of products is exact in int32, and rows of weights are taken as they are stored.
"""

from typing import Any

import numpy as np

from nnapi_shim.drivers.cpu.codegen.byte_columns import column_sums, pack_columns
from nnapi_shim.drivers.cpu.codegen.byte_dots import ROWS, dots_s8, dots_u8
from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late
from nnapi_shim.drivers.cpu.codegen.fixed_point import (
    ONE,
    inverse_root,
    logistic_16,
    product_16,
    rounding_shift,
    saturated,
    scaled,
    scaled_down,
    tanh_16,
    wrapped_32,
)
from nnapi_shim.drivers.cpu.codegen.gates import CELL, FORGET, INPUT, OUTPUT, of_gate
from nnapi_shim.drivers.cpu.codegen.numeric import copy_bytes, i8, i16, i32, i64, u8
from nnapi_shim.drivers.cpu.lowering.lstm_joined_q8 import JOINED, PACK_GATES
from nnapi_shim.drivers.cpu.lowering.lstm_quantized import (
    ACTIVATION_TABLE,
    CELL_8,
    CELL_16,
    PADDING,
)
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

MIDDLE = 1 << 15
"""The index of the result for 0 in a table."""


def activation_table(name: str, function: Any, whole: int) -> None:
    """A kernel that fills a table with the results of a function for all 16-bit numbers.

    For -x the result is `whole` less the one for x.
    """

    @kernel(ACTIVATION_TABLE, name)
    def fill(a, tile):
        y, integer_bits = i16(a.output), a.integer_bits
        for x in range(MIDDLE, -1, -1):  # downward: the number without a negative comes first
            result = function(x, integer_bits)
            y[MIDDLE - x] = whole - result
            y[MIDDLE + min(x, MIDDLE - 1)] = result
        return 0


activation_table("logistic_table", logistic_16, ONE)
activation_table("tanh_table", tanh_16, 0)


@helper
def padded(count):
    """Numbers of int16 that dot products of `count` read."""
    return (count + PADDING - 1) // PADDING * PADDING


@helper
def clear_padding(x, count):
    """x: int16[padded(count)], of which `count` are there."""
    numbers = i16(x)
    for k in range(count, padded(count)):
        numbers[k] = 0


@helper
def widen_s8(x, y, count, zero):
    """y: int16[count] = x: int8[count] - zero."""
    source, target = i8(x), i16(y)
    for k in range(count):
        target[k] = source[k] - zero


@helper
def widen_u8(x, y, count):
    """y: int16[count] = x: uint8[count] - 128. Returns their sum."""
    source, target, total = u8(x), i16(y), 0
    for k in range(count):
        target[k] = np.int16(source[k]) - 128
        total += target[k]
    return total


@helper
def rows_of(count):
    """Rows of so many products after which a kernel looks at the clock."""
    return max(LONG // count // ROWS, 1) * ROWS


@helper
def input_to(a, gate):
    """The weights of the input."""
    return of_gate(gate, a.input_to_input, a.input_to_forget, a.input_to_cell, a.input_to_output)


@helper
def recurrent_to(a, gate):
    """The weights of the output state."""
    return of_gate(
        gate,
        a.recurrent_to_input,
        a.recurrent_to_forget,
        a.recurrent_to_cell,
        a.recurrent_to_output,
    )


@helper
def bias_of(a, gate):
    """The bias."""
    return of_gate(gate, a.bias_input, a.bias_forget, a.bias_cell, a.bias_output)


@kernel(CELL_16)
def lstm_q16(a, tile, deadline):
    """input, prev_output: uint8; states: int16 with 11 fractional bits, gates with 12.

    The row [input | output] is multiplied with [recurrent weights | input weights]. scratch: int16
    [outputs] and [input_size], the two parts of that row, each padded; [4, outputs] gates; int32
    [2, outputs] sums.
    """
    inputs, outputs = a.input_size, a.outputs
    count = inputs + outputs
    parts = padded(outputs) + padded(inputs)
    front = a.scratch + tile * (parts + 8 * outputs) * 2
    back = front + 2 * padded(outputs)
    gates, sums = i16(front + 2 * parts), front + 2 * (parts + 4 * outputs)
    x, h, both = a.input + tile * inputs, a.prev_output + tile * outputs, min(inputs, outputs)
    total = widen_u8(x, front, both) + widen_u8(h, front + 2 * both, outputs - both)
    total += widen_u8(x + both, back, inputs - both)
    total += widen_u8(h + outputs - both, back + 2 * (inputs - both), both)
    clear_padding(front, outputs)
    clear_padding(back, inputs)
    correction = a.weights_zero * total
    stretch = outputs
    if outputs * count >= LONG:
        stretch = rows_of(count)
    of_front, of_back = i32(sums), i32(sums + 4 * outputs)
    for gate in range(4):
        bias, table = i32(bias_of(a, gate)), i16(a.tanh if gate == CELL else a.logistic)
        recurrent, direct = recurrent_to(a, gate), input_to(a, gate)
        for start in range(0, outputs, stretch):
            if start > 0 and late(deadline):
                return DEADLINE
            end = min(start + stretch, outputs)
            dots_u8(front, recurrent, outputs, start, end, outputs, sums)
            dots_u8(back, direct, inputs, start, end, outputs, sums + 4 * outputs)
        for u in range(outputs):
            products = np.int64(of_front[u]) + np.int64(of_back[u])
            value = scaled(wrapped_32(products + bias[u] - correction), a.mantissa, a.exponent)
            gates[gate * outputs + u] = saturated(value, 16)
        for u in range(gate * outputs, (gate + 1) * outputs):  # apart: the loop above has vectors
            gates[u] = table[gates[u] + MIDDLE]
    tanh = i16(a.tanh)
    before, after = i16(a.prev_cell_state), i16(a.cell_state_out)
    y, first = u8(a.output + tile * outputs), tile * outputs
    for u in range(outputs):
        into, forget = np.int64(gates[u]), np.int64(gates[outputs + u])
        candidate, out = np.int64(gates[2 * outputs + u]), np.int64(gates[3 * outputs + u])
        state = rounding_shift(product_16(into, candidate), 4)
        state = saturated(state + product_16(forget, np.int64(before[first + u])), 16)
        after[first + u] = state
        result = product_16(out, np.int64(tanh[saturated(state << 1, 16) + MIDDLE]))
        y[u] = 128 + saturated(rounding_shift(result, 8), 8)
    return 0


@helper
def quotient(x, y):
    """X / y toward zero, y positive."""
    return x // y if x >= 0 else -(-x // y)


@helper
def normalise(values, count, gain, bias, mantissa, exponent, least):
    """values: int16[count], in place: (v - mean) / deviation * gain + bias, 12 fractional bits."""
    total, squares = 0, 0
    for u in range(count):
        value = np.int64(values[u])
        total += value
        squares += value * value
    mean = quotient(total * 1024, count)
    variance = quotient(squares * ((1 << 20) // count) - mean * mean, 1 << 20)
    factor, shift = inverse_root(variance if variance >= 1 else least)
    for u in range(count):
        deviation = scaled(np.int64(values[u]) * 1024 - mean, factor, -shift)
        value = deviation * gain[u] + bias[u]
        steps = quotient(value + (512 if value > 0 else -512), 1024)
        values[u] = saturated(scaled(steps, mantissa, exponent), 16)


@helper
def update_cell_q8(a, gates, before, after, has_input_gate):
    """The cell state after the step; without an input gate, it is 1 minus the forget gate."""
    units, state = a.units, i16(before)
    into, forget, candidate = i16(gates), i16(gates + 2 * units), i16(gates + 4 * units)
    for u in range(units):
        f = np.int64(forget[u])
        i = np.int64(into[u]) if has_input_gate else ONE - f
        value = rounding_shift(f * state[u], 15)
        value += rounding_shift(i * candidate[u], a.product_shift)
        after[u] = min(max(saturated(value, 16), a.cell_low), a.cell_high)


@helper
def project_q8(a, result, y, sums, stretch, deadline):
    """y: int8[outputs] = the projection of result: int16[units]. False after the deadline."""
    units, numbers, bias = a.units, i16(result), i32(a.projection_bias)
    for u in range(units):
        numbers[u] += a.hidden_zero
    for start in range(0, a.outputs, stretch):
        if start > 0 and late(deadline):
            return False
        end = min(start + stretch, a.outputs)
        dots_s8(result, a.projection, units, start, end, a.outputs, sums)
    products = i32(sums)
    for n in range(a.outputs):
        total = wrapped_32(np.int64(products[n]) + bias[n])
        value = scaled(total, a.projection_mantissa, a.projection_exponent)
        y[n] = min(max(saturated(a.output_zero + value, 8), a.low), a.high)
    return True


@helper
def add_products_q8(a, values, keeps, numbers, count, weights, scale, sums, stretch, deadline):
    """values: int16[units] = those times keeps (0 or 1) plus the scaled products of int16[count] at
    `numbers` and weights: int8[units, count]. False after the deadline.
    """
    for start in range(0, a.units, stretch):
        if start > 0 and late(deadline):
            return False
        end = min(start + stretch, a.units)
        dots_s8(numbers, weights, count, start, end, a.units, sums)
    products = i32(sums)
    for u in range(a.units):
        value = scaled(np.int64(products[u]), scale[0], scale[1])
        values[u] = saturated(np.int64(values[u]) * keeps + value, 16)
    return True


@helper
def finish_gate_q8(a, gate, values, scales, state):
    """The gate from its products: peephole, layer normalization, activation."""
    units = a.units
    peephole = of_gate(gate, a.cell_to_input, a.cell_to_forget, 0, a.cell_to_output)
    if peephole != 0:
        factors = i16(peephole)
        for u in range(units):
            value = scaled(np.int64(factors[u]) * state[u], scales[4], scales[5])
            values[u] = saturated(values[u] + value, 16)
    gain = of_gate(gate, a.gain_input, a.gain_forget, a.gain_cell, a.gain_output)
    if gain != 0:
        bias = i32(bias_of(a, gate))
        normalise(values, units, i16(gain), bias, scales[6], scales[7], scales[8])
    table = i16(a.tanh if gate == CELL else a.logistic)
    for u in range(units):
        values[u] = table[values[u] + MIDDLE]


@kernel(CELL_8)
def lstm_q8(a, tile, deadline):
    """input, outputs: int8; cell state: int16, any power of 2.

    scratch: int16 [input_size] input, [outputs] output state, [units] result, each padded;
    [4, units] gates; int32 [units] or [outputs] sums.
    """
    inputs, units, outputs = a.input_size, a.units, a.outputs
    numbers = padded(inputs) + padded(outputs) + padded(units) + 4 * units
    x = a.scratch + tile * (numbers + 2 * max(units, outputs)) * 2
    h = x + 2 * padded(inputs)
    results = h + 2 * padded(outputs)
    result, gates, sums = i16(results), results + 2 * padded(units), x + 2 * numbers
    before, after = a.prev_cell_state + tile * units * 2, i16(a.cell_state_out + tile * units * 2)
    out = i16(gates + 6 * units)
    widen_s8(a.input + tile * inputs, x, inputs, a.input_zero)
    widen_s8(a.prev_output + tile * outputs, h, outputs, a.output_zero)
    clear_padding(x, inputs)
    clear_padding(h, outputs)
    first_gate = INPUT if a.input_to_input != 0 else FORGET
    stretch = units
    if units * (inputs + outputs) >= LONG:
        stretch = rows_of(inputs + outputs)
    for gate in range(first_gate, 4):
        if gate == OUTPUT:
            update_cell_q8(a, gates, before, after, first_gate == INPUT)
        values, scales = i16(gates + 2 * gate * units), i64(a.gates + gate * 72)
        weights, scale = input_to(a, gate), (scales[0], scales[1])
        if not add_products_q8(a, values, 0, x, inputs, weights, scale, sums, stretch, deadline):
            return DEADLINE
        weights, scale = recurrent_to(a, gate), (scales[2], scales[3])
        if not add_products_q8(a, values, 1, h, outputs, weights, scale, sums, stretch, deadline):
            return DEADLINE
        finish_gate_q8(a, gate, values, scales, after if gate == OUTPUT else i16(before))
    tanh = i16(a.state_tanh)
    for u in range(units):
        product = np.int64(out[u]) * tanh[after[u] + MIDDLE]
        value = scaled(product, a.hidden_mantissa, a.hidden_exponent) - a.hidden_zero
        result[u] = saturated(value, 8)
    y = i8(a.output + tile * outputs)
    if a.projection == 0:
        for n in range(outputs):
            y[n] = result[n]
    else:
        clear_padding(results, units)
        if not project_q8(a, results, y, sums, rows_of(units), deadline):
            return DEADLINE
    copy = i8(a.output_state_out + tile * outputs)
    for n in range(outputs):
        copy[n] = y[n]
    return 0


# Joined gates


@kernel(PACK_GATES)
def pack_gates(a, tile):
    """The weights of a gate are the columns from gate * room on; the others are 0."""
    units, depth, room = a.units, a.depth, a.room
    packed = i8(a.output)
    for k in range(4 * room * padded_to_pairs(depth)):
        packed[k] = 0
    for gate in range(4):
        weights = of_gate(gate, a.weights_input, a.weights_forget, a.weights_cell, a.weights_output)
        pack_columns(weights, a.output, gate * room, units, depth, 4 * room)
    return 0


@helper
def padded_to_pairs(count):
    """Numbers of int16 that products of packed columns read."""
    return (count + 1) // 2 * 2


@helper
def scale_gate(values, direct, recurrent, count, scales):
    """values: int16[count], from the sums of products of the input and of the output state."""
    if scales[1] > 0 or scales[3] > 0:
        for u in range(count):
            value = saturated(scaled(np.int64(direct[u]), scales[0], scales[1]), 16)
            value += scaled(np.int64(recurrent[u]), scales[2], scales[3])
            values[u] = saturated(value, 16)
    else:
        factors, shifts = (np.int32(scales[0]), np.int32(scales[2])), (-scales[1], -scales[3])
        for u in range(count):
            value = saturated(scaled_down(direct[u], factors[0], shifts[0]), 16)
            value += scaled_down(recurrent[u], factors[1], shifts[1])
            values[u] = saturated(value, 16)


@kernel(JOINED)
def lstm_joined_q8(a, tile):
    """As lstm_q8. scratch: int32 [2, 4, room] sums; int16 [4, room] gates, [room] cell state; int8
    [room] result; int16 [input_size] and [outputs], whole pairs: the weights behind them are 0.
    """
    inputs, units, outputs, room = a.input_size, a.units, a.outputs, a.room
    direct = a.scratch + tile * a.scratch_bytes
    recurrent, gates = direct + 16 * room, direct + 32 * room
    state_at, results = gates + 8 * room, gates + 10 * room
    x = gates + 11 * room
    h = x + 2 * padded_to_pairs(inputs)
    before, after = a.prev_cell_state + tile * units * 2, a.cell_state_out + tile * units * 2
    widen_s8(a.input + tile * inputs, x, inputs, a.input_zero)
    widen_s8(a.prev_output + tile * outputs, h, outputs, a.output_zero)
    copy_bytes(state_at, before, units * 2)
    column_sums(x, a.input_weights, padded_to_pairs(inputs) // 2, 4 * room, direct)
    column_sums(h, a.recurrent_weights, padded_to_pairs(outputs) // 2, 4 * room, recurrent)
    logistic, tanh, state_tanh = i16(a.logistic), i16(a.tanh), i16(a.state_tanh)
    for gate in range(4):
        values, scales = i16(gates + 2 * gate * room), i64(a.gates + gate * 72)
        first = 4 * gate * room
        scale_gate(values, i32(direct + first), i32(recurrent + first), room, scales)
        table = tanh if gate == CELL else logistic
        for u in range(room):
            values[u] = table[values[u] + MIDDLE]
    into, forget, candidate = i16(gates), i16(gates + 2 * room), i16(gates + 4 * room)
    out, state, result = i16(gates + 6 * room), i16(state_at), i8(results)
    shift, low, high = a.product_shift, a.cell_low, a.cell_high
    for u in range(room):
        value = rounding_shift(np.int64(forget[u]) * state[u], 15)
        value += rounding_shift(np.int64(into[u]) * candidate[u], shift)
        state[u] = min(max(saturated(value, 16), low), high)
    for u in range(room):  # apart: the loops around it have vectors
        candidate[u] = state_tanh[state[u] + MIDDLE]
    mantissa, exponent, zero = a.hidden_mantissa, a.hidden_exponent, a.hidden_zero
    for u in range(room):
        value = scaled(np.int64(out[u]) * candidate[u], mantissa, exponent) - zero
        result[u] = saturated(value, 8)
    copy_bytes(after, state_at, units * 2)
    copy_bytes(a.output + tile * outputs, results, outputs)
    copy_bytes(a.output_state_out + tile * outputs, results, outputs)
    return 0
