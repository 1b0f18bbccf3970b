"""U-Net, Ronneberger et al. 2015, with padded convolutions, so that the output is as large as the
input: 512 x 512 pixels of one channel, two classes.
"""

from nnapi_shim import Operand
from tests.bench.models.network import Network

PARAMETERS = 31_030_658

CHANNELS = (64, 128, 256, 512)
BOTTOM = 1024
CLASSES = 2


def build(n: Network, size: int = 512) -> tuple[Operand, ...]:
    """Classes of each pixel."""
    x = n.input((1, size, size, 1))
    levels = []
    for channels in CHANNELS:
        x = _twice(n, x, channels)
        levels.append(x)
        x = n.max_pool(x, 2, 2)
    x = _twice(n, x, BOTTOM)
    for channels, level in zip(reversed(CHANNELS), reversed(levels), strict=True):
        x = _twice(n, n.concat((level, n.doubled(x, channels))), channels)
    return (n.softmax(n.conv(x, CLASSES, has_normalisation=False, is_exact=True)),)


def _twice(n: Network, x: Operand, channels: int) -> Operand:
    for _ in range(2):
        x = n.conv(x, channels, 3, activation="RELU", has_normalisation=False)
    return x
