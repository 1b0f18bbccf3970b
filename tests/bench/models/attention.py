"""What transformers share. Normalisations and GELU are float32 in both kinds: in int8 they lose
what the layers behind them need.
"""

import numpy as np

from nnapi_shim import Model, Operand
from tests.bench.models.network import Network


def normalised(n: Network, x: Operand) -> Operand:
    """Layer normalisation, over the last dimension."""
    return n.in_float(normalisation(n, x.dimensions[-1]), x)


def normalisation(n: Network, depth: int):
    """The layer that does so."""
    gamma, beta = n.vector(depth, 1.0), n.vector(depth, 0.0)

    def layer(model: Model, x: Operand) -> Operand:
        axis = [len(x.dimensions) - 1]
        apart = model.sub(x, model.mean(x, axis, keep_dims=True))
        variance = model.mean(model.mul(apart, apart), axis, keep_dims=True)
        deviation = model.sqrt(
            model.add(variance, np.full((1,) * len(x.dimensions), 1e-5, np.float32))
        )
        return model.add(model.mul(model.div(apart, deviation), gamma), beta)

    return layer


def gelu(model: Model, x: Operand) -> Operand:
    """X times the share of a normal distribution below it, by the usual formula with tanh."""

    def number(value: float) -> np.ndarray:
        return np.full((1,) * len(x.dimensions), value, np.float32)

    cube = model.mul(model.mul(x, x), x)
    inner = model.mul(model.add(x, model.mul(cube, number(0.044715))), number((2 / np.pi) ** 0.5))
    return model.mul(model.mul(x, model.add(model.tanh(inner), number(1.0))), number(0.5))


def attention(n: Network, x: Operand, heads: int) -> Operand:
    """Every step looks at all steps, with several heads."""
    _, steps, depth = x.dimensions
    each = depth // heads
    query, key, value = (
        n.transpose(n.reshape(n.dense(x, depth), (1, steps, heads, each)), (0, 2, 1, 3))
        for _ in range(3)
    )
    weights = n.softmax(n.mul_number(n.matmul(query, key, adj_y=True), each**-0.5))
    result = n.transpose(n.matmul(weights, value), (0, 2, 1, 3))
    return n.dense(n.reshape(result, (1, steps, depth)), depth)
