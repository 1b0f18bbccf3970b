"""MobileNet v2 1.0, Sandler et al. 2018."""

from nnapi_shim import Operand
from tests.bench.models.network import Network

PARAMETERS = 3_504_872

BLOCKS = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
    (6, 320, 1, 1),
)  # fmt: skip
"""Expansion, channels, how many in a row, stride of the first."""


def build(n: Network, size: int = 224) -> tuple[Operand, ...]:
    """Classes of a picture."""
    x = n.conv(n.input((1, size, size, 3)), 32, 3, 2, "RELU6")
    for expansion, channels, count, stride in BLOCKS:
        for at in range(count):
            x = inverted(n, x, expansion, channels, 3, 1 if at else stride)
    x = n.conv(x, 1280, activation="RELU6")
    return (n.classes(n.reshape(n.mean(x), (1, -1)), 1000),)


def inverted(
    n: Network, x: Operand, expansion: int, channels: int, kernel: int, stride: int
) -> Operand:
    """An inverted residual block."""
    y = x
    if expansion > 1:
        y = n.conv(y, x.dimensions[-1] * expansion, activation="RELU6", is_exact=True)
    y = n.depthwise(y, kernel, stride, "RELU6")
    y = n.conv(y, channels)
    return n.add(x, y) if x.dimensions == y.dimensions else y
