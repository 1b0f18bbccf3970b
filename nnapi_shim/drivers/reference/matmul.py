"""FULLY_CONNECTED BATCH_MATMUL."""

from math import prod

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, centred, dtype_of, is_float, saturated, times
from nnapi_shim.drivers.reference.deadline import PRODUCTS, product
from nnapi_shim.drivers.reference.fixed_point import scaled
from nnapi_shim.drivers.reference.half import sums_type
from nnapi_shim.drivers.reference.linear import with_bias
from nnapi_shim.errors import op_failed
from nnapi_shim.operations.declare import BoundOperation


def fully_connected(op: BoundOperation) -> list[Array]:
    """output[b,u] = act(bias[u] + sum over k of input[b,k] * weights[u,k]).

    input: any shape, seen as [batch, input_size]. weights: [units, input_size].
    """
    inputs, weights = centred(op.input), centred(op.weights)
    units, input_size = weights.shape
    if inputs.size % input_size:
        raise op_failed(
            f"input has {inputs.size} elements; they must be a multiple of {input_size}",
            "fully-connected.input-size",
        )
    if op.bias.value.size != units:
        raise op_failed(
            f"bias has {op.bias.value.size} values; weights have {units} rows",
            "fully-connected.bias-size",
        )
    total = product(inputs.reshape(-1, input_size), weights.T)
    return [with_bias(op, total, op.weights)]


def batch_matmul(op: BoundOperation) -> list[Array]:
    """op(lhs) x op(rhs), matrix by matrix; op transposes where adj_x, adj_y say so.

    INT32 wraps. Quantized: clamp(z + scaled(int32(product), s_lhs * s_rhs / s_output)), the
    product of the scales in float32.
    """
    lhs, rhs = centred(op.lhs), centred(op.rhs)
    if not is_float(op.output):
        lhs, rhs = lhs.astype(np.int64), rhs.astype(np.int64)
    if op.adj_x:
        lhs = np.swapaxes(lhs, -1, -2)
    if op.adj_y:
        rhs = np.swapaxes(rhs, -1, -2)
    total = _products(lhs, rhs)
    if op.variant == "qs8":
        scale = np.float64(np.float32(op.lhs.scale) * np.float32(op.rhs.scale))
        accumulator = total.astype(np.int32)
        raw = scaled(accumulator, scale / op.output.scale) + op.output.zero_point
        return [saturated(raw, op.output.type)]
    return [total.astype(dtype_of(op.output.type))]


def _products(lhs: Array, rhs: Array) -> Array:
    """The product lhs @ rhs, matrix by matrix: a large one of them is no single call of numpy."""
    batch = np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2])
    is_small = prod(batch) * lhs.shape[-2] * lhs.shape[-1] * rhs.shape[-1] <= PRODUCTS
    if is_small and sums_type() == np.float64:
        return times(lhs, rhs)
    lhs = np.broadcast_to(lhs, (*batch, *lhs.shape[-2:]))
    rhs = np.broadcast_to(rhs, (*batch, *rhs.shape[-2:]))
    total = np.empty((*batch, lhs.shape[-2], rhs.shape[-1]), np.result_type(lhs, rhs))
    for at in np.ndindex(batch):
        total[at] = product(lhs[at], rhs[at])
    return total
