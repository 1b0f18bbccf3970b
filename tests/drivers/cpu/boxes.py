"""Boxes for tests of the CPU device."""

from typing import Any

import numpy as np


def crowd(rng: Any, shape: tuple[int, ...], size: float = 100.0) -> Any:
    """[..., 4] boxes x1, y1, x2, y2 that overlap many others, in whole numbers."""
    low = rng.integers(0, size, (*shape, 2))
    return np.concatenate([low, low + rng.integers(0, size / 2, (*shape, 2))], -1)
