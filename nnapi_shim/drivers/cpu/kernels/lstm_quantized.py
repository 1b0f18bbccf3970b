"""One step of an LSTM in integers; see semantics.md 11.5 and 11.6 for the order of the roundings.

A tile is a batch. Its activations are widened to int16 without their zero point first, so that a
sum of products is exact in int32, and rows of weights are taken as they are stored.
"""

from typing import Any

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late, late_after
from nnapi_shim.drivers.cpu.codegen.fixed_point import (
    ONE,
    inverse_root,
    logistic_16,
    product_16,
    rounding_shift,
    saturated,
    scaled,
    tanh_16,
    wrapped_32,
)
from nnapi_shim.drivers.cpu.codegen.gates import CELL, FORGET, INPUT, OUTPUT, of_gate
from nnapi_shim.drivers.cpu.codegen.numeric import add32, i8, i16, i32, i64, multiply32, u8
from nnapi_shim.drivers.cpu.lowering.lstm_quantized import ACTIVATION_TABLE, CELL_8, CELL_16
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


def _dot(pointer: Any) -> Any:
    """The sum of products of int16[count] and 8-bit weights[count]."""

    @helper
    def dot(x, weights, count):
        left, right, total = i16(x), pointer(weights), np.int32(0)
        for k in range(count):
            total = add32(total, multiply32(left[k], right[k]))
        return np.int64(total)

    return dot


dot_u8, dot_s8 = _dot(u8), _dot(i8)


@helper
def widen_s8(x, y, count, zero):
    """y: int16[count] = x: int8[count] - zero."""
    source, target = i8(x), i16(y)
    for k in range(count):
        target[k] = source[k] - zero


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

    scratch: int16 [input_size + outputs] activations, and [4, outputs] gates of each tile. The row
    [input | output] is multiplied with [recurrent weights | input weights].
    """
    inputs, outputs = a.input_size, a.outputs
    count = inputs + outputs
    activations = a.scratch + tile * (count + 4 * outputs) * 2
    gates = i16(activations + 2 * count)
    x, h, v = u8(a.input + tile * inputs), u8(a.prev_output + tile * outputs), i16(activations)
    total = 0
    for k in range(inputs):
        v[k] = np.int16(x[k]) - 128
        total += v[k]
    for k in range(outputs):
        v[inputs + k] = np.int16(h[k]) - 128
        total += v[inputs + k]
    correction = a.weights_zero * total
    stretch = outputs
    if outputs * count >= LONG:
        stretch = max(LONG // count, 1)
    for gate in range(4):
        bias, table = i32(bias_of(a, gate)), i16(a.tanh if gate == CELL else a.logistic)
        recurrent, direct = recurrent_to(a, gate), input_to(a, gate)
        for start in range(0, outputs, stretch):
            if start > 0 and late(deadline):
                return DEADLINE
            for u in range(start, min(start + stretch, outputs)):
                products = dot_u8(activations, recurrent + u * outputs, outputs)
                products += dot_u8(activations + 2 * outputs, direct + u * inputs, inputs)
                value = scaled(wrapped_32(products + bias[u] - correction), a.mantissa, a.exponent)
                gates[gate * outputs + u] = table[saturated(value, 16) + MIDDLE]
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
def project_q8(a, result, y, deadline):
    """y: int8[outputs] = the projection of result: int16[units]. False after the deadline."""
    units, numbers, bias, work = a.units, i16(result), i32(a.projection_bias), 0
    for u in range(units):
        numbers[u] += a.hidden_zero
    for n in range(a.outputs):
        is_late, work = late_after(work + units, deadline)
        if is_late:
            return False
        products = dot_s8(result, a.projection + n * units, units) + bias[n]
        value = scaled(wrapped_32(products), a.projection_mantissa, a.projection_exponent)
        y[n] = min(max(saturated(a.output_zero + value, 8), a.low), a.high)
    return True


@helper
def add_products_q8(a, values, keeps, numbers, count, weights, scale, stretch, deadline):
    """values: int16[units] = those times keeps (0 or 1) plus the scaled products of int16[count] at
    `numbers` and weights: int8[units, count]. False after the deadline.
    """
    for start in range(0, a.units, stretch):
        if start > 0 and late(deadline):
            return False
        for u in range(start, min(start + stretch, a.units)):
            value = scaled(dot_s8(numbers, weights + u * count, count), scale[0], scale[1])
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

    scratch: int16 [input_size] input, [outputs] output state, [units] result, [4, units] gates.
    """
    inputs, units, outputs = a.input_size, a.units, a.outputs
    x = a.scratch + tile * (inputs + outputs + 5 * units) * 2
    h = x + 2 * inputs
    result = i16(h + 2 * outputs)
    gates = h + 2 * outputs + 2 * units
    before, after = a.prev_cell_state + tile * units * 2, i16(a.cell_state_out + tile * units * 2)
    out = i16(gates + 6 * units)
    widen_s8(a.input + tile * inputs, x, inputs, a.input_zero)
    widen_s8(a.prev_output + tile * outputs, h, outputs, a.output_zero)
    first_gate = INPUT if a.input_to_input != 0 else FORGET
    stretch = units
    if units * (inputs + outputs) >= LONG:
        stretch = max(LONG // (inputs + outputs), 1)
    for gate in range(first_gate, 4):
        if gate == OUTPUT:
            update_cell_q8(a, gates, before, after, first_gate == INPUT)
        values, scales = i16(gates + 2 * gate * units), i64(a.gates + gate * 72)
        weights, scale = input_to(a, gate), (scales[0], scales[1])
        if not add_products_q8(a, values, 0, x, inputs, weights, scale, stretch, deadline):
            return DEADLINE
        weights, scale = recurrent_to(a, gate), (scales[2], scales[3])
        if not add_products_q8(a, values, 1, h, outputs, weights, scale, stretch, deadline):
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
    elif not project_q8(a, h + 2 * outputs, y, deadline):
        return DEADLINE
    copy = i8(a.output_state_out + tile * outputs)
    for n in range(outputs):
        copy[n] = y[n]
    return 0
