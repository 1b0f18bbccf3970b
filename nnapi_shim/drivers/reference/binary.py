"""ADD SUB MUL DIV MAXIMUM MINIMUM POW."""

from collections.abc import Callable

import numpy as np

from nnapi_shim.drivers.reference.arrays import (
    Array,
    activated,
    activated_raw,
    broadcast,
    centred,
    dtype_of,
    real,
    requantized,
)
from nnapi_shim.drivers.reference.fixed_point import scaled
from nnapi_shim.operations.declare import BoundOperation


def add(op: BoundOperation) -> list[Array]:
    """act(input0 + input1)."""
    return _sum(op, +1) if op.variant.startswith("q") else _plain(op, np.add)


def sub(op: BoundOperation) -> list[Array]:
    """act(input0 - input1)."""
    return _sum(op, -1) if op.variant.startswith("q") else _plain(op, np.subtract)


def mul(op: BoundOperation) -> list[Array]:
    """act(input0 * input1); quantized: z + (q0 - z0) * (q1 - z1) * (s0 * s1 / s)."""
    if not op.variant.startswith("q"):
        return _plain(op, np.multiply)
    product = np.multiply(*_broadcast(op))
    scale = np.float64(np.float32(op.input0.scale) * np.float32(op.input1.scale))
    return _stored(op, scaled(product, scale / op.output.scale))


def div(op: BoundOperation) -> list[Array]:
    """act(input0 / input1); INT32: rounded down, and x / 0 = 0."""
    return _plain(op, np.floor_divide if op.variant == "i32" else np.divide)


def maximum(op: BoundOperation) -> list[Array]:
    """input1 where it is greater than input0, else input0.

    Quantized inputs are first requantized to the output's scale and zero point (semantics.md 6.4).
    """
    x, y = _like_output(op)
    return [np.where(x < y, y, x)]


def minimum(op: BoundOperation) -> list[Array]:
    """input1 where it is less than input0, else input0; quantized as in `maximum`."""
    x, y = _like_output(op)
    return [np.where(y < x, y, x)]


def pow(op: BoundOperation) -> list[Array]:
    """base^exponent."""
    result = np.power(*broadcast(real(op.base), real(op.exponent)))
    return [result.astype(dtype_of(op.output.type))]


def _like_output(op: BoundOperation) -> list[Array]:
    """Both inputs, broadcast, as elements of the output."""
    if op.variant.startswith("q"):
        return broadcast(requantized(op.input0, op.output), requantized(op.input1, op.output))
    return broadcast(op.input0.value, op.input1.value)


def _plain(op: BoundOperation, function: Callable[[Array, Array], Array]) -> list[Array]:
    """float64 rounded once; INT32 in 64 bits, of which the lower half stays."""
    result = function(*_broadcast(op))
    if op.variant == "i32":
        return [result.astype(np.int32)]
    return [activated(result, op.activation, op.output.type)]


def _sum(op: BoundOperation, sign: int) -> list[Array]:
    """Both inputs in units of 2 * max(s0, s1) / 2^20, added, and rescaled (semantics.md 6.1)."""
    x0, x1 = _broadcast(op)
    unit = float(np.float32(2 * max(op.input0.scale, op.input1.scale)))
    total = scaled(x0 * 2**20, op.input0.scale / unit) + scaled(
        x1 * 2**20, sign * op.input1.scale / unit
    )
    return _stored(op, scaled(total, unit / (2**20 * op.output.scale)))


def _stored(op: BoundOperation, steps: Array) -> list[Array]:
    """Multiples of the output's scale as elements of the output."""
    target = op.output
    raw = steps + target.zero_point
    return [activated_raw(raw, op.activation, target.type, target.scale, target.zero_point)]


def _broadcast(op: BoundOperation) -> list[Array]:
    """Both inputs, aligned at the end and stretched to one shape; integers as int64."""
    integers = op.variant not in ("f32", "f16")
    inputs = [
        centred(x).astype(np.int64) if integers else centred(x) for x in (op.input0, op.input1)
    ]
    return broadcast(*inputs)
