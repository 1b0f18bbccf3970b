"""Random boxes, and real numbers as tensors of the types that come with them."""

from typing import Any

import numpy as np

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from tests.operations.plans.common import Random
from tests.single import Value, tensor

EIGHTH = 0.125


def real_tensor(type: T, reals: Any, scale: float = 0.0, zero_point: int = 0) -> Value:
    """Real numbers, to the nearest that the type has."""
    reals = np.ascontiguousarray(reals)
    if type not in QUANTIZED_RANGE:
        return tensor(type, reals)
    raw = np.clip(np.rint(reals / scale) + zero_point, *QUANTIZED_RANGE[type])
    return tensor(type, raw, scale, zero_point)


def corners(rng: Random, shape: tuple[int, ...], width: float, height: float) -> Any:
    """[..., 4] boxes x1, y1, x2, y2 inside an image, some of them without area."""
    x = np.sort(rng.uniform(0, width, (*shape, 2)))
    y = np.sort(rng.uniform(0, height, (*shape, 2)))
    x[..., 1] = np.where(rng.random(shape) < 0.1, x[..., 0], x[..., 1])
    return np.stack([x[..., 0], y[..., 0], x[..., 1], y[..., 1]], -1)


def images(rng: Random, count: int, batches: int) -> Value:
    """The image of each of `count` boxes, those of an image side by side."""
    return tensor(T.TENSOR_INT32, np.sort(rng.integers(0, batches, count)))


def type_of(use: Any, name: str) -> T:
    """Type of an input of a use."""
    return use.inputs[use.names.index(name)]
