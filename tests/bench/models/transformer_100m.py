"""A stack of transformer blocks with 100 million parameters: 14 blocks, 768 wide, with 12 heads,
normalised before each layer (Xiong et al. 2020). Without words: the input is a sequence of vectors.
"""

from nnapi_shim import Operand
from tests.bench.models.attention import attention, gelu, normalised
from tests.bench.models.network import Network

PARAMETERS = 99_230_208 + 2 * 768

DEPTH, BLOCKS, HEADS, STEPS = 768, 14, 12, 128


def build(n: Network, size: int = STEPS, blocks: int = BLOCKS) -> tuple[Operand, ...]:
    """A vector for each step."""
    depth, heads = (DEPTH, HEADS) if n.width == 1 else (24, 3)
    x = n.input((1, size, depth), "vectors")
    for _ in range(blocks if n.width == 1 else 3):
        x = n.add(x, attention(n, normalised(n, x), heads))
        inner = n.in_float(gelu, n.dense(normalised(n, x), 4 * depth))
        x = n.add(x, n.dense(inner, depth))
    return (normalised(n, x),)
