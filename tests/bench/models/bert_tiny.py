"""BERT-tiny, the encoder of 2 layers, 128 wide, with 2 heads, of Turc et al. 2019.

One sequence, which fills all steps.
"""

import numpy as np

from nnapi_shim import Model, Operand
from tests.bench.models.attention import attention, gelu, normalisation, normalised
from tests.bench.models.network import Network

PARAMETERS = 4_385_920

VOCABULARY, POSITIONS, KINDS, STEPS = 30522, 512, 2, 128
DEPTH, LAYERS, HEADS = 128, 2, 2


def build(n: Network, size: int = STEPS) -> tuple[Operand, ...]:
    """A vector for each word, and one for all."""
    return encoder(n, size, DEPTH, LAYERS, HEADS)


def encoder(n: Network, size: int, depth: int, layers: int, heads: int) -> tuple[Operand, ...]:
    """BERT of so many layers, so wide."""
    words = n.indexes((1, size), "words")
    vectors = n.embedding(words, VOCABULARY if n.width == 1 else 1000, depth)
    positions = n.vector(POSITIONS * depth, 0.0).reshape(1, POSITIONS, depth)[:, :size]
    kinds = n.vector(KINDS * depth, 0.0).reshape(KINDS, depth)
    placed = np.ascontiguousarray(positions + kinds[0])
    layer = normalisation(n, depth)

    def embedded(model: Model, x: Operand) -> Operand:
        return layer(model, model.add(x, placed))

    x = n.in_float(embedded, vectors)
    for _ in range(layers):
        x = normalised(n, n.add(x, attention(n, x, heads)))
        inner = n.in_float(gelu, n.dense(x, 4 * depth))
        x = normalised(n, n.add(x, n.dense(inner, depth)))
    first = n.reshape(n.slice(x, (0, 0, 0), (1, 1, depth)), (1, depth))
    return x, n.tanh(n.dense(first, depth))
