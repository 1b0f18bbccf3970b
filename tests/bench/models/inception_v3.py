"""Inception v3, Szegedy et al. 2015, without the head that only training has."""

from nnapi_shim import Operand
from tests.bench.models.network import Network

PARAMETERS = 23_834_568

Layer = tuple[int, int | tuple[int, int]]
Branch = tuple[Layer, ...]


def build(n: Network, size: int = 299) -> tuple[Operand, ...]:
    """Classes of a picture."""
    x = n.input((1, size, size, 3))
    x = n.conv(x, 32, 3, 2, "RELU", "VALID")
    x = n.conv(x, 32, 3, 1, "RELU", "VALID")
    x = n.conv(x, 64, 3, 1, "RELU")
    x = n.max_pool(x, 3, 2, "VALID")
    x = n.conv(x, 80, 1, 1, "RELU", "VALID")
    x = n.conv(x, 192, 3, 1, "RELU", "VALID")
    x = n.max_pool(x, 3, 2, "VALID")
    for pooled in (32, 64, 64):
        towers = (((64, 1),), ((48, 1), (64, 5)), ((64, 1), (96, 3), (96, 3)))
        x = _block(n, x, towers, pooled)
    x = _reduction(n, x, ((384, 3),), ((64, 1), (96, 3), (96, 3)))
    for c in (128, 160, 160, 192):
        long = ((c, 1), (c, (7, 1)), (c, (1, 7)), (c, (7, 1)), (192, (1, 7)))
        x = _block(n, x, (((192, 1),), ((c, 1), (c, (1, 7)), (192, (7, 1))), long), 192)
    x = _reduction(n, x, ((192, 1), (320, 3)), ((192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3)))
    for _ in range(2):
        x = _wide(n, x)
    return (n.classes(n.reshape(n.mean(x), (1, -1)), 1000),)


def _tower(n: Network, x: Operand, layers: Branch) -> Operand:
    for channels, kernel in layers:
        x = n.conv(x, channels, kernel, 1, "RELU")
    return x


def _pooled(n: Network, x: Operand, channels: int) -> Operand:
    return n.conv(n.average_pool(x, 3, 1), channels, activation="RELU")


def _block(n: Network, x: Operand, towers: tuple[Branch, ...], pooled: int) -> Operand:
    return n.concat([*(_tower(n, x, layers) for layers in towers), _pooled(n, x, pooled)])


def _reduction(n: Network, x: Operand, *towers: Branch) -> Operand:
    """Half the height and width: the last layer of each tower has stride 2."""
    ends = []
    for *layers, (channels, kernel) in towers:
        y = _tower(n, x, tuple(layers))
        ends.append(n.conv(y, channels, kernel, 2, "RELU", "VALID"))
    return n.concat([*ends, n.max_pool(x, 3, 2, "VALID")])


def _wide(n: Network, x: Operand) -> Operand:
    """The last blocks, whose towers end in two layers side by side."""
    ends = [_tower(n, x, ((320, 1),))]
    for layers in (((384, 1),), ((448, 1), (384, 3))):
        y = _tower(n, x, layers)
        ends += [_tower(n, y, ((384, (1, 3)),)), _tower(n, y, ((384, (3, 1)),))]
    return n.concat([*ends, _pooled(n, x, 192)])
