"""How element-wise work is cut into tiles."""

TILE = 1 << 16
"""Elements per tile: the operands of one stay in a second-level cache."""


def tiles(count: int) -> int:
    """Number of tiles of `count` elements; the last one may be short."""
    return -(-count // TILE)
