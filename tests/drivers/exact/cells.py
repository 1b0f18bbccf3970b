"""QUANTIZED_16BIT_LSTM and QUANTIZED_LSTM, number by number, in plain Python integers.

Written from semantics.md (11.5, 11.6), sharing no code with a device. Operands are nested lists of
stored numbers, None where one is omitted; gates stand in the order input, forget, cell, output.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tests.drivers.exact.integers import (
    LARGEST,
    divided,
    high,
    inverse_root,
    logistic,
    multiplier,
    saturated,
    scaled,
    single,
    tanh,
    wrapped,
)

INPUT, FORGET, CANDIDATE, OUTPUT = range(4)
ONE = 32767
"""Of 16 bits without integer bits."""

Row = Sequence[int]
Matrix = Sequence[Row]


def dot(a: Row, b: Row) -> int:
    """The sum of products."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def effective(a: float, b: float, divisor: float) -> float:
    """A product of two scales over a third, in float32; what it cannot hold is its end."""
    return min(single(min(single(a * b), LARGEST) / divisor), LARGEST)


def cell_16(
    x: Row, h: Row, state: Row, direct: Sequence[Matrix], recurrent: Sequence[Matrix],
    biases: Sequence[Row], weight: tuple[float, int],
) -> tuple[list[int], list[int]]:  # fmt: skip
    """(cell state, output) of one batch of QUANTIZED_16BIT_LSTM.

    weight: scale and zero point of the weights.
    """
    scale, zero = weight
    activations = [v - 128 for v in (*x, *h)]
    after, output = [], []
    for u, before in enumerate(state):
        gates = []
        for gate in range(4):
            row = [w - zero for w in (*recurrent[gate][u], *direct[gate][u])]
            total = wrapped(biases[gate][u] + dot(activations, row))
            value = saturated(scaled(total, 4096 * single(scale / 128)), 16)
            gates.append((tanh if gate == CANDIDATE else logistic)(value, 3, 16))
        product = divided(high(gates[INPUT], gates[CANDIDATE], 16), 4)
        now = saturated(product + high(gates[FORGET], before, 16), 16)
        result = high(gates[OUTPUT], tanh(saturated(now << 1, 16), 3, 16), 16)
        after.append(now)
        output.append(128 + saturated(divided(result, 8), 8))
    return after, output


class Cell(NamedTuple):
    """The operands of QUANTIZED_LSTM that all batches share, each with its scale."""

    of_x: tuple[float, int]
    of_h: tuple[float, int]
    direct: Sequence[tuple[Matrix, float] | None]
    recurrent: Sequence[tuple[Matrix, float] | None]
    peepholes: Sequence[tuple[Row, float] | None]
    gains: Sequence[tuple[Row, float] | None]
    biases: Sequence[Row | None]
    intermediates: Sequence[float]
    state_bits: int
    hidden: tuple[float, int]
    projection: tuple[Matrix, float, Row] | None
    cell_clip: float
    projection_clip: float


def cell_8(cell: Cell, x: Row, h: Row, state: Row) -> tuple[list[int], list[int]]:
    """(output, cell state) of one batch of QUANTIZED_LSTM."""
    k = cell.state_bits
    forget = [logistic(v, 3, 16) for v in _gate(cell, FORGET, x, h, state)]
    if cell.direct[INPUT] is None:
        into = [ONE - f for f in forget]
    else:
        into = [logistic(v, 3, 16) for v in _gate(cell, INPUT, x, h, state)]
    candidate = [tanh(v, 3, 16) for v in _gate(cell, CANDIDATE, x, h, state)]
    now = [
        saturated(divided(f * before, 15) + divided(i * g, 30 + k), 16)
        for f, before, i, g in zip(forget, state, into, candidate, strict=True)
    ]
    now = _clipped(now, cell.cell_clip, 2.0**k, 2**15 - 1)
    zero = wrapped(cell.hidden[1], 8)
    real = effective(2.0**-30, 1.0, cell.hidden[0])
    result = []
    for o, c in zip(_gate(cell, OUTPUT, x, h, now), now, strict=True):
        product = logistic(o, 3, 16) * tanh(c, 15 + k, 16)
        result.append(saturated(scaled(product, real) - zero, 8))
    if cell.projection is None:
        return result[: len(h)], now
    weights, scale, bias = cell.projection
    real = effective(scale, cell.hidden[0], cell.of_h[0])
    totals = [
        wrapped(b + dot(result, row) + zero * sum(row))
        for b, row in zip(bias, weights, strict=True)
    ]
    projected = [saturated(cell.of_h[1] + scaled(total, real), 8) for total in totals]
    return _clipped(projected, cell.projection_clip, scale, 127), now


def _gate(cell: Cell, gate: int, x: Row, h: Row, state: Row) -> list[int]:
    """The pre-activations of a gate; `state` is what its peephole sees."""
    divisor = cell.intermediates[gate]
    sums = [0] * len(state)
    for values, (scale, zero), weights in (
        (x, cell.of_x, cell.direct[gate]),
        (h, cell.of_h, cell.recurrent[gate]),
    ):
        matrix, of_weights = weights
        real = effective(of_weights, scale, divisor)
        for u, row in enumerate(matrix):
            product = scaled(wrapped(dot(values, row) - zero * sum(row)), real)
            sums[u] = saturated(sums[u] + product, 16)
    peephole = cell.peepholes[gate]
    if peephole is not None:
        real = effective(2.0**cell.state_bits, peephole[1], divisor)
        for u, (w, c) in enumerate(zip(peephole[0], state, strict=True)):
            sums[u] = saturated(sums[u] + scaled(w * c, real), 16)
    gain = cell.gains[gate]
    return sums if gain is None else _normalised(sums, *gain, cell.biases[gate])


def _normalised(values: Row, gain: Row, scale: float, bias: Row) -> list[int]:
    count = len(values)
    mean = _quotient(sum(values) * 1024, count)
    variance = _quotient(sum(v * v for v in values) * (2**20 // count) - mean**2, 2**20)
    if variance < 1:
        variance = min(1, int(10000 * scale))
    a, b = inverse_root(variance)
    mantissa, exponent = multiplier(scale)
    exponent += 12
    result = []
    for v, weight, offset in zip(values, gain, bias, strict=True):
        t = divided(high(1024 * v - mean, a), b) * weight + offset
        u = saturated(_quotient(t + 512 if t > 0 else t - 512, 1024) << max(exponent, 0))
        result.append(saturated(divided(high(u, mantissa), max(-exponent, 0)), 16))
    return result


def _quotient(a: int, b: int) -> int:
    """Toward zero."""
    return abs(a) // b * (1 if a >= 0 else -1)


def _clipped(values: Row, bound: float, scale: float, most: int) -> list[int]:
    steps = int(min(single(single(bound) / scale), most))
    return [max(-steps, min(v, steps)) for v in values] if steps > 0 else list(values)
