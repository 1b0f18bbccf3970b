"""A block of the small Conformer, Gulati et al. 2020, with absolute positions: half a feed-forward
layer, attention, a convolution over 31 steps, the other half.
"""

from nnapi_shim import Operand
from tests.bench.models.attention import attention, normalised
from tests.bench.models.network import Network

STEPS, DEPTH, HEADS, KERNEL = 128, 144, 4, 31


def build(n: Network, size: int = STEPS) -> tuple[Operand, ...]:
    """The sequence that the next block gets."""
    x = n.input((1, size, DEPTH))
    x = _forward(n, x)
    x = n.add(x, attention(n, normalised(n, x), HEADS))
    x = _convolution(n, x)
    return (normalised(n, _forward(n, x)),)


def _swish(n: Network, x: Operand) -> Operand:
    return n.mul(x, n.logistic(x))


def _forward(n: Network, x: Operand) -> Operand:
    y = _swish(n, n.dense(normalised(n, x), 4 * DEPTH))
    return n.add(x, n.mul_number(n.dense(y, DEPTH), 0.5))


def _convolution(n: Network, x: Operand) -> Operand:
    value, gate = n.halves(n.dense(normalised(n, x), 2 * DEPTH))
    y = n.mul(value, n.logistic(gate))
    image = n.reshape(y, (1, 1, *y.dimensions[1:]))
    y = n.reshape(n.depthwise(image, (1, KERNEL)), y.dimensions)
    return n.add(x, n.dense(_swish(n, y), DEPTH))
