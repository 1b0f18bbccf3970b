"""ResNet-50, He et al. 2015, with the stride in the 3x3 convolution."""

from nnapi_shim import Operand
from tests.bench.models.network import Network

PARAMETERS = 25_557_032

Stages = tuple[tuple[int, int, int], ...]
STAGES: Stages = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
"""Inner channels, how many in a row, stride of the first."""


def build(n: Network, size: int = 224, stages: Stages = STAGES) -> tuple[Operand, ...]:
    """Classes of a picture."""
    x = n.conv(n.input((1, size, size, 3)), 64, 7, 2, "RELU")
    x = n.max_pool(x, 3, 2)
    for channels, count, stride in stages:
        for at in range(count):
            x = _bottleneck(n, x, channels, 1 if at else stride, at == 0)
    return (n.classes(n.reshape(n.mean(x), (1, -1)), 1000),)


def _bottleneck(n: Network, x: Operand, channels: int, stride: int, is_first: bool) -> Operand:
    y = n.conv(x, channels, activation="RELU")
    y = n.conv(y, channels, 3, stride, "RELU")
    y = n.conv(y, 4 * channels, gain=0.2)
    if is_first:
        x = n.conv(x, 4 * channels, stride=stride)
    return n.add(x, y, "RELU")
