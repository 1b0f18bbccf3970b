"""BERT-tiny, the encoder of 2 layers, 128 wide, with 2 heads, of Turc et al. 2019.

One sequence, which fills all steps.
"""

import numpy as np

from nnapi_shim import Model, Operand
from tests.bench.models.attention import attention, gelu, normalisation, normalised
from tests.bench.models.network import Network

PARAMETERS = 4_385_920

VOCABULARY, POSITIONS, KINDS, STEPS = 30522, 512, 2, 128
DEPTH, LAYERS, HEADS, INNER = 128, 2, 2, 512


def build(n: Network, size: int = STEPS) -> tuple[Operand, ...]:
    """A vector for each word, and one for all."""
    words = n.indexes((1, size), "words")
    vectors = n.embedding(words, VOCABULARY if n.width == 1 else 1000, DEPTH)
    positions = n.vector(POSITIONS * DEPTH, 0.0).reshape(1, POSITIONS, DEPTH)[:, :size]
    kinds = n.vector(KINDS * DEPTH, 0.0).reshape(KINDS, DEPTH)
    placed = np.ascontiguousarray(positions + kinds[0])
    layer = normalisation(n, DEPTH)

    def embedded(model: Model, x: Operand) -> Operand:
        return layer(model, model.add(x, placed))

    x = n.in_float(embedded, vectors)
    for _ in range(LAYERS):
        x = normalised(n, n.add(x, attention(n, x, HEADS)))
        inner = n.in_float(gelu, n.dense(x, INNER))
        x = normalised(n, n.add(x, n.dense(inner, DEPTH)))
    first = n.reshape(n.slice(x, (0, 0, 0), (1, 1, DEPTH)), (1, DEPTH))
    return x, n.tanh(n.dense(first, DEPTH))
