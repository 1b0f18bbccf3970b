"""Operations between those that are drawn: they give a tensor other dimensions, or a range that
an operation is made for. They are under test like all others.
"""

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from tests.random_models.growth import Growth
from tests.single import Value, i32, scalar, tensor

MOVABLE = (
    T.TENSOR_FLOAT32,
    T.TENSOR_FLOAT16,
    T.TENSOR_INT32,
    T.TENSOR_QUANT8_ASYMM,
    T.TENSOR_QUANT8_ASYMM_SIGNED,
)
"""Types that RESHAPE, TILE and SLICE take."""

FLOATS = (T.TENSOR_FLOAT32, T.TENSOR_FLOAT16)
MAX_RESHAPED_RANK = 4
LARGEST = 20000
"""Elements that a tensor is not made from or to."""


def like(value: Value) -> Value:
    """An output with the type and parameters of a tensor."""
    operand = value.operand
    return tensor(operand.type, None, operand.scale, operand.zero_point)


def _is_allowed(growth: Growth, *names: str) -> bool:
    return all(OperationType[name] in growth.allowed for name in names)


def _apply(growth: Growth, name: str, index: int, *arguments: Any) -> int:
    """Add an operation whose output is of the type and parameters of its first input."""
    (result,) = growth.add(OperationType[name], (index, *arguments), (like(growth.value(index)),))
    return result


# Dimensions


def adapted(growth: Growth, index: int, expected: Dimensions) -> int | None:
    """A tensor of these dimensions made from another one; None where that cannot be."""
    inputs = growth.value(index).operand.dimensions
    if inputs == expected:
        return index
    if growth.value(index).operand.type not in MOVABLE or 0 in inputs or not inputs or not expected:
        return None
    if max(prod(inputs), prod(expected)) > LARGEST or not _is_allowed(
        growth, "RESHAPE", "SLICE", "TILE"
    ):
        return None
    if 0 in expected:
        full = adapted(growth, index, tuple([size or 1 for size in expected]))
        return None if full is None else _sliced(growth, full, expected)
    if len(inputs) == len(expected) and growth.chance(0.5):
        if all(a >= b for a, b in zip(inputs, expected, strict=True)):
            return _sliced(growth, index, expected)
        if not any(b % a for a, b in zip(inputs, expected, strict=True)):
            multiples = [b // a for a, b in zip(inputs, expected, strict=True)]
            return _apply(growth, "TILE", index, i32(multiples))
    return _through_one_dimension(growth, index, expected)


def _through_one_dimension(growth: Growth, index: int, expected: Dimensions) -> int | None:
    inputs = growth.value(index).operand.dimensions
    if len(inputs) > MAX_RESHAPED_RANK:
        return None
    count, needed = prod(inputs), prod(expected)
    if count != needed:
        if len(inputs) > 1:
            index = _apply(growth, "RESHAPE", index, i32([count]))
        if count < needed:
            index = _apply(growth, "TILE", index, i32([-(-needed // count)]))
        if growth.value(index).operand.dimensions != (needed,):
            index = _sliced(growth, index, (needed,))
    if growth.value(index).operand.dimensions != expected:
        shape = list(expected)
        if growth.chance(0.3):
            shape[int(growth.rng.integers(len(shape)))] = -1
        index = _apply(growth, "RESHAPE", index, i32(shape))
    return index


def _sliced(growth: Growth, index: int, expected: Dimensions) -> int:
    inputs = growth.value(index).operand.dimensions
    begin = [int(growth.rng.integers(a - b + 1)) for a, b in zip(inputs, expected, strict=True)]
    size = [
        -1 if b and a == start + b and growth.chance(0.3) else b
        for a, b, start in zip(inputs, expected, begin, strict=True)
    ]
    return _apply(growth, "SLICE", index, i32(begin), i32(size))


# Ranges


def is_within(array: Any, amplitude: float) -> bool:
    """Whether all numbers are finite and no larger than `amplitude`."""
    return bool((np.abs(array) <= amplitude).all())


def tamed(growth: Growth, index: int, amplitude: float) -> int | None:
    """Floating-point numbers up to `amplitude` made from any; None where that cannot be."""
    array = growth.value(index).array
    type = growth.value(index).operand.type
    for name in _ways(growth, array, amplitude):
        if name == "CLAMP":
            return clamped(growth, index, amplitude)
        if name == "MUL":
            _, exponent = np.frexp(float(np.abs(array.astype(np.float64)).max()) / amplitude)
            factor = tensor(type, [2.0**-exponent])
            return _apply(growth, "MUL", index, factor, scalar(T.INT32, 0))
        return _apply(growth, name, index)
    return None


def clamped(growth: Growth, index: int, amplitude: float) -> int | None:
    """Floating-point numbers cut off at +-amplitude; None where that cannot be."""
    if not _is_allowed(growth, "MAXIMUM", "MINIMUM"):
        return None
    value = growth.value(index)
    low, high = (tensor(value.operand.type, [bound]) for bound in (-amplitude, amplitude))
    # A NaN that comes second gives way to the first.
    (index,) = growth.add(OperationType.MAXIMUM, (low, index), (like(value),))
    (index,) = growth.add(OperationType.MINIMUM, (high, index), (like(value),))
    return index


def _ways(growth: Growth, array: Any, amplitude: float) -> Iterator[str]:
    """Operations that bring the numbers into the range, in random order."""
    ways = ["CLAMP"] if _is_allowed(growth, "MAXIMUM", "MINIMUM") else []
    if np.isfinite(array).all():
        largest = float(np.abs(array.astype(np.float64)).max())
        limits = {"RELU1": 1, "TANH": 1, "LOGISTIC": 1, "RELU6": 6}
        ways += [name for name, limit in limits.items() if limit <= amplitude]
        if largest < amplitude * 2**13:
            ways += ["MUL", "MUL"]
        ways = [name for name in ways if name == "CLAMP" or _is_allowed(growth, name)]
    for position in growth.rng.permutation(len(ways)):
        yield ways[position]


# Types


def truth(growth: Growth, index: int, expected: Dimensions) -> int | None:
    """A TENSOR_BOOL8 of these dimensions: numbers, compared with one of them."""
    names = [name for name in ("GREATER", "LESS_EQUAL", "EQUAL") if _is_allowed(growth, name)]
    if not names:
        return None
    made = adapted(growth, index, expected)
    if made is None or not prod(expected):
        return None
    value = growth.value(made)
    one = value.array.ravel()[int(growth.rng.integers(prod(expected)))]
    other = Value(value.operand._replace(dimensions=(1,)), np.array([one]))
    name = names[int(growth.rng.integers(len(names)))]
    return growth.add(OperationType[name], (made, other), (tensor(T.TENSOR_BOOL8),))[0]


def copied(growth: Growth, index: int) -> int | None:
    """A computed tensor with the contents of any; None where that cannot be."""
    operand = growth.value(index).operand
    dimensions = operand.dimensions
    if operand.type not in MOVABLE or not dimensions or 0 in dimensions:
        return None
    if len(dimensions) > MAX_RESHAPED_RANK or not _is_allowed(growth, "RESHAPE"):
        return None
    return _apply(growth, "RESHAPE", index, i32(dimensions))


def requantized(growth: Growth, index: int, target: Value) -> int | None:
    """A quantized tensor with the scale and zero point of another one of its type."""
    inputs, expected = growth.value(index).operand, target.operand
    if (inputs.scale, inputs.zero_point) == (expected.scale, expected.zero_point):
        return index
    if 0 in inputs.dimensions or not _is_allowed(growth, "MAXIMUM"):
        return None
    return growth.add(OperationType.MAXIMUM, (index, index), (like(target),))[0]
