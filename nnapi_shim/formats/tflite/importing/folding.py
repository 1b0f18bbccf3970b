"""Constant folding of small integers: shapes and values computed from them.

A size that is unknown at import is -1. Operators that move or concatenate such numbers may fold it,
since RESHAPE accepts one -1; arithmetic does not.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.formats.tflite.file import DTYPES, Operator
from nnapi_shim.formats.tflite.importing.graph import Importing

MOST = 256
"""The most numbers that are folded."""

Fold = Callable[[Mapping[str, Any], Sequence[Array]], Array]


def _strided(options: Mapping[str, Any], values: Sequence[Array]) -> Array:
    data, *ranges = values
    begin, end, strides = (item.reshape(-1).tolist() for item in ranges)
    if options.get("Offset", False):
        end = [a + b for a, b in zip(begin, end, strict=True)]
    names = ("BeginMask", "EndMask", "ShrinkAxisMask", "EllipsisMask", "NewAxisMask")
    begins, ends, shrink, ellipsis, new = (int(options.get(name, 0)) for name in names)
    parts: list[Any] = []
    for at, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
        if ellipsis >> at & 1:
            parts.append(...)
        elif new >> at & 1:
            parts.append(None)
        elif shrink >> at & 1:
            parts.append(first)
        else:
            parts.append(
                slice(None if begins >> at & 1 else first, None if ends >> at & 1 else last, step)
            )
    return np.asarray(data[tuple(parts)])


def _slice(options: Mapping[str, Any], values: Sequence[Array]) -> Array:
    data, begin, size = values
    parts = [
        slice(first, None if count == -1 else first + count)
        for first, count in zip(begin.tolist(), size.tolist(), strict=True)
    ]
    return data[tuple(parts)]


def _gather(options: Mapping[str, Any], values: Sequence[Array]) -> Array:
    if options.get("BatchDims", 0) or (values[1] < 0).any():
        raise ValueError("batches")
    return np.take(values[0], values[1], int(options.get("Axis", 0)))


def _floor_divide(options: Mapping[str, Any], values: Sequence[Array]) -> Array:
    if not values[1].all():
        raise ValueError("division by 0")
    return values[0] // values[1]


def _axes(values: Sequence[Array]) -> tuple[int, ...]:
    return tuple(values[1].reshape(-1).tolist())


MOVES: dict[str, Fold] = {
    "CAST": lambda options, values: values[0],
    "CONCATENATION": lambda options, values: np.concatenate(values, int(options.get("Axis", 0))),
    "EXPAND_DIMS": lambda options, values: np.expand_dims(values[0], _axes(values)),
    "GATHER": _gather,
    "PACK": lambda options, values: np.stack(values, int(options.get("Axis", 0))),
    "RESHAPE": lambda options, values: values[0].reshape(_axes(values)),
    "REVERSE_V2": lambda options, values: np.flip(values[0], _axes(values)),
    "SLICE": _slice,
    "SQUEEZE": lambda options, values: np.squeeze(values[0], options.get("SqueezeDims") or None),
    "STRIDED_SLICE": _strided,
}
"""Operators that move numbers. The first input (any of PACK and CONCATENATION) may contain -1."""

SUMS: dict[str, Fold] = {
    "ADD": lambda options, values: values[0] + values[1],
    "FLOOR_DIV": _floor_divide,
    "MAXIMUM": lambda options, values: np.maximum(values[0], values[1]),
    "MINIMUM": lambda options, values: np.minimum(values[0], values[1]),
    "MUL": lambda options, values: values[0] * values[1],
    "NEG": lambda options, values: -values[0],
    "REDUCE_PROD": lambda options, values: np.prod(
        values[0], _axes(values), keepdims=bool(options.get("KeepDims", False))
    ),
    "SUB": lambda options, values: values[0] - values[1],
}
"""Arithmetic operators."""


def folded(graph: Importing, operator: Operator) -> bool:
    """Whether the output of an operator is known at import; it is then folded."""
    name, options = operator.name, operator.options
    fold = MOVES.get(name) or SUMS.get(name)
    if fold is None or len(operator.outputs) != 1 or options.get("FusedActivationFunction", 0):
        return False
    target = graph.tensor(operator.outputs[0])
    if target.type not in ("INT32", "INT64") or target.scales:
        return False
    values: list[Array] = []
    total = 0
    may_be_partial = len(operator.inputs) if name in ("PACK", "CONCATENATION") else name in MOVES
    is_partial = False
    for at, index in enumerate(operator.inputs):
        value = graph.value(index)
        if value is None and index in graph.partial and at < may_be_partial:
            value, is_partial = graph.partial[index], True
        if value is None or value.size > MOST or value.dtype.kind != "i":
            return False
        total += value.size
        if total > 8 * MOST:
            return False  # a constant may be packed with itself any number of times
        values.append(value.astype(np.int64))
    try:
        result = fold(options, values)
    except (IndexError, TypeError, ValueError):
        return False  # its lowering reports the error
    if result.size > MOST:
        return False
    if is_partial and (result < 0).any():
        graph.partial[target.number] = result
    else:
        graph.fold(target.number, result.astype(DTYPES[target.type]))
    return True
