"""Contents at the edges of their types: infinities, NaN, the largest and the smallest numbers;
scales and zero points that are as extreme. What ordinary numbers never meet.
"""

from typing import Any

import numpy as np

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE, STRUCT_CODES
from nnapi_shim.hal.types import Dimensions
from tests.operations.cases import random_contents
from tests.operations.plans.common import Random
from tests.random_models.graph import types_named
from tests.single import Value

ORDINARY = frozenset(
    types_named(
        "RNN UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_RNN SVDF "
        "LSTM UNIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_LSTM"
    )
)
"""Operations whose results are not defined for real numbers at the edges (docs/deviations.md)."""

FLOATS = (T.TENSOR_FLOAT32, T.TENSOR_FLOAT16)


def _edges(dtype: Any) -> Any:
    """Floating-point numbers that something happens at: squares and sums of some overflow."""
    limits = np.finfo(dtype)
    largest, normal = limits.max, limits.smallest_normal
    positive = [
        *(0.0, limits.smallest_subnormal, normal / 2, normal, 1.0),
        *(np.sqrt(largest), largest / 2, largest, np.inf),
    ]
    return np.array([np.nan, *positive, *(-number for number in positive)], dtype)


EDGES = {type: _edges(STRUCT_CODES[type]) for type in FLOATS}
INTEGERS = np.array([-(2**31), -(2**31) + 1, -1, 0, 1, 2**31 - 1], np.int32)


def contents(type: T, dimensions: Dimensions, rng: Random, name: str) -> Value:
    """A tensor of random values, some of them special, for the operation of that name."""
    value = random_contents(type, dimensions, rng, name)
    if value.array.size == 0 or rng.random() < 0.25:
        return value
    operand, array = value.operand, value.array
    if type in FLOATS:
        if OperationType[name] in ORDINARY:
            return value
        return value._replace(array=with_edges(array, EDGES[type], rng))
    if type in QUANTIZED_RANGE:
        low, high = QUANTIZED_RANGE[type]
        array = with_edges(array, np.array([low, high, operand.zero_point], array.dtype), rng)
        quant = operand.channel_quant
        if quant is not None:
            scales = tuple([scale_of(rng) for _ in quant.scales])
            return Value(operand._replace(channel_quant=quant._replace(scales=scales)), array)
        if operand.zero_point and rng.random() < 0.5:
            operand = operand._replace(zero_point=int(rng.choice((low, high))))
        return Value(operand._replace(scale=scale_of(rng)), array)
    if type == T.TENSOR_INT32:
        return value._replace(array=with_edges(array, INTEGERS, rng))
    return value


def with_edges(array: Any, edges: Any, rng: Random) -> Any:
    """One element, some or most of them replaced."""
    shares = (1 / array.size, 0.1, 0.7)
    is_replaced = rng.random(array.shape) < shares[int(rng.integers(3))]
    if rng.random() < 0.3:  # few kinds, so that sums are not all NaN
        edges = edges[rng.integers(len(edges), size=2)]
    return np.where(is_replaced, edges[rng.integers(len(edges), size=array.shape)], array)


def scale_of(rng: Random) -> float:
    """A scale: now and then one whose square is no float32, never one whose square is infinite."""
    exponent = rng.uniform(-120, 60) if rng.random() < 0.1 else rng.uniform(-24, 12)
    return float(np.float32(2.0**exponent))
