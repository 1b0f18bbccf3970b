"""MobileNet v3-large 1.0, Howard et al. 2019."""

from nnapi_shim import Operand
from tests.bench.models.network import Network

PARAMETERS = 5_483_032

BLOCKS = (
    (3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2), (5, 120, 40, True, False, 1), (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1), (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1), (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2), (5, 960, 160, True, True, 1), (5, 960, 160, True, True, 1),
)  # fmt: skip
"""Kernel, expanded channels, channels, whether it squeezes, whether it is hard-swish, stride."""


def build(n: Network, size: int = 224) -> tuple[Operand, ...]:
    """Classes of a picture."""
    x = n.hard_swish(n.conv(n.input((1, size, size, 3)), 16, 3, 2))
    for block in BLOCKS:
        x = _block(n, x, *block)
    x = n.hard_swish(n.conv(x, 960))
    x = n.hard_swish(n.dense(n.reshape(n.mean(x), (1, -1)), 1280))
    return (n.classes(x, 1000, gain=40.0),)


def _block(
    n: Network, x: Operand, kernel: int, expanded: int, channels: int, squeezes: bool,
    is_swish: bool, stride: int,
) -> Operand:  # fmt: skip
    activation = "NONE" if is_swish else "RELU"
    y = x
    if n.scaled(expanded) != x.dimensions[-1]:
        y = n.conv(y, expanded, activation=activation)
        y = n.hard_swish(y) if is_swish else y
    y = n.depthwise(y, kernel, stride, activation)
    y = n.hard_swish(y) if is_swish else y
    if squeezes:
        y = n.mul(y, _squeezed(n, y))
    y = n.conv(y, channels)
    return n.add(x, y) if x.dimensions == y.dimensions else y


def _squeezed(n: Network, x: Operand) -> Operand:
    """A factor for each channel: relu6(x + 3) / 6 of two layers, as TensorFlow writes it."""
    depth = x.dimensions[-1]
    count = max(8, (depth // 4 + 4) // 8 * 8)
    count += 8 if count < 0.9 * (depth // 4) else 0
    y = n.conv(n.mean(x), count, activation="RELU", has_normalisation=False, is_exact=True)
    y = n.conv(y, depth, has_normalisation=False, is_exact=True)
    y = n.add_number(y, 3.0, "RELU6")
    return n.mul_number(y, 1 / 6)
