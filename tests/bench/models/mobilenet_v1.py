"""MobileNet v1 1.0, Howard et al. 2017."""

from nnapi_shim import Operand
from tests.bench.models.network import Network

PARAMETERS = 4_231_976

BLOCKS = (
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
    (512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1),
)  # fmt: skip
"""Channels and stride of each block."""


def build(n: Network, size: int = 224) -> tuple[Operand, ...]:
    """Classes of a picture."""
    _, x = backbone(n, n.input((1, size, size, 3)))
    return (n.classes(n.reshape(n.mean(x), (1, -1)), 1000),)


def backbone(n: Network, x: Operand) -> tuple[Operand, Operand]:
    """What stands in front of the classes: features of a stride of 16, and of 32."""
    x = middle = n.conv(x, 32, 3, 2, "RELU6")
    for channels, stride in BLOCKS:
        if channels == 1024 and stride == 2:
            middle = x
        x = n.depthwise(x, 3, stride, "RELU6")
        x = n.conv(x, channels, activation="RELU6")
    return middle, x
