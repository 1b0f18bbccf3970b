"""QUANTIZED_16BIT_LSTM QUANTIZED_LSTM: the integer recipes of semantics.md 11.5 and 11.6."""

from functools import partial
from typing import Any

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array
from nnapi_shim.drivers.reference.fixed_functions import logistic, tanh
from nnapi_shim.drivers.reference.fixed_point import (
    doubling_high_product,
    inverse_square_root,
    limited,
    one,
    rounding_shift,
    scaled,
)
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.lstm_cell import GATES
from nnapi_shim.operations.lstm_quantized import quantized_cell, state_bits, vanishes

product_16 = partial(doubling_high_product, width=16)
saturated_16 = partial(limited, width=16)
logistic_16, tanh_16 = partial(logistic, width=16), partial(tanh, width=16)
"""Of 16-bit numbers; the functions have results without integer bits."""


def quantized_16bit_lstm(op: BoundOperation) -> list[Array]:
    """C = f * C_old + i * g and output = o * tanh(C), the state with 11 fractional bits.

    A gate is logistic or tanh of bias + sum of activation * weight, with 12 fractional bits.
    """
    # Differs: the documentation multiplies the input with its weights and the output with its own;
    # the reference pairs [input | prev_output] with [recurrent weights | input weights].
    activations = np.hstack([_integers(op.input), _integers(op.prev_output)]) - 128
    cell = quantized_cell(op)

    def gate(which: int) -> Array:
        recurrent, direct, bias = (
            operands[which]
            for operands in (cell.recurrent_weights, cell.input_weights, cell.biases)
        )
        weights = np.hstack([_integers(recurrent), _integers(direct)]) - recurrent.zero_point
        total = _wrapped(activations @ weights.T + _integers(bias))
        return saturated_16(scaled(total, 4096 * bias.scale))

    into, forget, out = (logistic_16(gate(which), 3) for which in (0, 1, 3))
    state = rounding_shift(product_16(into, tanh_16(gate(2), 3)), 4)
    state = saturated_16(state + product_16(forget, _integers(op.prev_cell_state)))
    result = product_16(out, tanh_16(saturated_16(state << 1), 3))
    output = 128 + np.clip(rounding_shift(result, 8), -128, 127)
    return [state.astype(np.int16), output.astype(np.uint8)]


def quantized_lstm(op: BoundOperation) -> list[Array]:
    """C = clip(f * C_old + i * g), m = o * tanh(C), output = clip(projection(m)) or m.

    A gate is logistic or tanh of W x + R h_old + peephole * C, or of that normalised, as a number
    with 12 fractional bits whatever its scale is.
    """
    cell, bits = quantized_cell(op), state_bits(op)
    inputs = _integers(op.input) - op.input.zero_point
    outputs = _integers(op.prev_output) - op.prev_output.zero_point
    state = _integers(op.prev_cell_state)

    def gate(which: int, state: Array) -> Array:
        """Differs: the reference reads the state that a peephole looks at before it is written."""
        scale = getattr(op, f"{GATES[which]}_intermediate_scale")
        total: Array = np.zeros((), np.int64)
        for values, source, weights in (
            (inputs, op.input, cell.input_weights[which]),
            (outputs, op.prev_output, cell.recurrent_weights[which]),
        ):
            multiplier = _multiplier(weights.scale, source.scale, scale)
            products = scaled(_wrapped(values @ _integers(weights).T), multiplier)
            total = saturated_16(total + products)
        weights = cell.peepholes[which]
        if weights is not None:
            multiplier = _multiplier(2.0**bits, weights.scale, scale)
            total = saturated_16(total + scaled(_integers(weights) * state, multiplier))
        if cell.gains[which] is not None:
            # Differs: the documentation adds the bias in any case; the reference only here.
            total = _normalised(total, cell.gains[which], _integers(cell.biases[which]))
        return total

    forget = logistic_16(gate(1, state), 3)
    into = one(16) - forget if cell.is_coupled else logistic_16(gate(0, state), 3)
    candidate = tanh_16(gate(2, state), 3)
    state = saturated_16(
        rounding_shift(forget * state, 15) + rounding_shift(into * candidate, 30 + bits)
    )
    state = _clipped(state, op.cell_clip, op.prev_cell_state, 2**15 - 1)
    hidden_zero = int(np.int64(op.hidden_state_zero_point).astype(np.int8))
    products = logistic_16(gate(3, state), 3) * tanh_16(state, 15 + bits)
    # The reference has the zero point of the hidden state with the opposite sign.
    hidden = scaled(products, _multiplier(2.0**-30, 1.0, op.hidden_state_scale)) - hidden_zero
    result = np.clip(hidden, -128, 127)
    weights = cell.projection_weights
    if weights is None:
        result = result[:, : cell.outputs]
    else:
        total = (result + hidden_zero) @ _integers(weights).T + _integers(cell.projection_bias)
        total = _wrapped(total)
        target = op.prev_output
        multiplier = _multiplier(weights.scale, op.hidden_state_scale, target.scale)
        result = np.clip(target.zero_point + scaled(total, multiplier), -128, 127)
        result = _clipped(result, op.projection_clip, weights, 127)
    output = result.astype(np.int8)
    return [output, state.astype(np.int16), output]


def _integers(operand: Any) -> Array:
    return operand.value.astype(np.int64)


def _multiplier(a: float, b: float, divisor: float) -> float:
    """Product of two scales over a third in float32, clamped to finite values."""
    largest = float(np.finfo(np.float32).max)
    quotient = np.float32(a) * np.float32(b) / np.float32(divisor)
    return max(min(float(quotient), largest), -largest)


def _wrapped(values: Array) -> Array:
    """The low 32 bits."""
    return values.astype(np.int32).astype(np.int64)


def _clipped(values: Array, bound: float, like: BoundOperand, largest: int) -> Array:
    """Within a bound in whole steps of an operand's scale, if it is as large as one step."""
    steps = min(np.trunc(np.float32(bound) / np.float32(like.scale)), largest)
    return np.clip(values, -int(steps), int(steps)) if steps > 0 else values


def _normalised(values: Array, gain: BoundOperand, bias: Array) -> Array:
    """(v - mean) / deviation * gain + bias of every row, with 12 fractional bits."""
    count = values.shape[1]
    mean = _quotient(values.sum(axis=1, keepdims=True) * 1024, count)
    square = (values**2).sum(axis=1, keepdims=True)
    variance = _quotient(square * (2**20 // count) - mean**2, 2**20)
    least = min(1, int(10000 * gain.scale))
    variance = np.where(variance < 1, least, variance)
    mantissa, shift = inverse_square_root(variance)
    deviation = rounding_shift(doubling_high_product(values * 1024 - mean, mantissa), shift)
    total = deviation * _integers(gain) + bias
    steps = _quotient(total + np.where(total > 0, 512, -512), 1024)
    multiplier = 0.0 if vanishes(gain.scale) else gain.scale * 2.0**12
    return saturated_16(scaled(steps, multiplier))


def _quotient(a: Array, b: int) -> Array:
    """Quotient of integers, toward zero."""
    return np.sign(a) * (np.abs(a) // b)
