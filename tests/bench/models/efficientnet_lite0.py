"""EfficientNet-Lite0, of the TensorFlow repository of TPU models, 2020."""

from nnapi_shim import Operand
from tests.bench.models.mobilenet_v2 import inverted
from tests.bench.models.network import Network

PARAMETERS = 4_652_008

BLOCKS = (
    (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5), (6, 320, 1, 1, 3),
)  # fmt: skip
"""Expansion, channels, how many in a row, stride of the first, kernel."""


def build(n: Network, size: int = 224) -> tuple[Operand, ...]:
    """Classes of a picture."""
    x = n.conv(n.input((1, size, size, 3)), 32, 3, 2, "RELU6")
    for expansion, channels, count, stride, kernel in BLOCKS:
        for at in range(count):
            x = inverted(n, x, expansion, channels, kernel, 1 if at else stride)
    x = n.conv(x, 1280, activation="RELU6")
    return (n.classes(n.reshape(n.mean(x), (1, -1)), 1000),)
