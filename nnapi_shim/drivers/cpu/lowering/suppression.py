"""Scratch memory of non-maximum suppression, and how its work is cut into tiles."""

HISTOGRAM_BYTES = 8 * 256
"""Counts of one digit, for sorting."""

PARTS = 16
"""Into how many tiles classes are cut at most: each needs scratch memory of its own."""


def scratch_bytes(capacity: int) -> int:
    """Scratch memory for `capacity` candidates, a multiple of 64.

    Two lists of items (int64), the histogram, five columns of float32 (codegen/suppression.py).
    """
    return -(-(capacity * (8 + 8 + 5 * 4) + HISTOGRAM_BYTES) // 64) * 64


def parts(count: int) -> tuple[int, int]:
    """(tiles, number per tile) of `count` independent things."""
    each = max(1, -(-count // PARTS))
    return max(1, -(-count // each)), each
