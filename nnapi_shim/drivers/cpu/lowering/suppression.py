"""Scratch memory and tiling of non-maximum suppression."""

HISTOGRAM_BYTES = 8 * 4 * 256
"""Bytes of the histograms of the four digits that items are sorted by (codegen/sorting.py)."""

PARTS = 16
"""Tiles of the classes, at most: each has its own scratch memory."""


def scratch_bytes(capacity: int) -> int:
    """Scratch memory for `capacity` candidates, a multiple of 64.

    Two lists of items (int64), the histograms, five columns of float32 (codegen/suppression.py).
    """
    return -(-(capacity * (8 + 8 + 5 * 4) + HISTOGRAM_BYTES) // 64) * 64


def parts(count: int) -> tuple[int, int]:
    """(tiles, items per tile) of `count` independent items."""
    each = max(1, -(-count // PARTS))
    return max(1, -(-count // each)), each
