"""What numpy does in one expression, on the arrays of an example, by operation."""

from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = dict[str, Any]


def _axes(a: Arrays) -> tuple[int, ...]:
    return tuple(a["axes"].tolist())


def _softmax(a: Arrays) -> Any:
    x = a["input"]
    e = np.exp((x - x.max(-1, keepdims=True)) * np.float32(a["beta"]))
    return e / e.sum(-1, keepdims=True)


def _log_softmax(a: Arrays) -> Any:
    x = (a["input"] - a["input"].max(-1, keepdims=True)) * np.float32(a["beta"])
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def _sliced(a: Arrays) -> Any:
    begin, size = a["begin"], a["size"]
    window = tuple(
        slice(b, None if s == -1 else b + s)
        for b, s in zip(begin.tolist(), size.tolist(), strict=True)
    )
    return a["input"][window].copy()


def _strided(a: Arrays) -> Any:
    window = tuple(map(slice, a["begin"].tolist(), a["end"].tolist(), a["strides"].tolist()))
    return a["input"][window].copy()


def _depth_to_space(a: Arrays) -> Any:
    x, b = a["input"], int(a["block_size"])
    n, h, w, d = x.shape
    moved = x.reshape(n, h, w, b, b, d // b // b).transpose(0, 1, 3, 2, 4, 5)
    return np.ascontiguousarray(moved).reshape(n, h * b, w * b, d // b // b)


def _space_to_depth(a: Arrays) -> Any:
    x, b = a["input"], int(a["block_size"])
    n, h, w, d = x.shape
    moved = x.reshape(n, h // b, b, w // b, b, d).transpose(0, 1, 3, 2, 4, 5)
    return np.ascontiguousarray(moved).reshape(n, h // b, w // b, d * b * b)


def _shuffled(a: Arrays) -> Any:
    x, groups = a["input"], int(a["num_groups"])
    moved = x.reshape(*x.shape[:-1], groups, x.shape[-1] // groups).swapaxes(-1, -2)
    return np.ascontiguousarray(moved).reshape(x.shape)


def _unary(function: Any) -> Callable[[Arrays], Any]:
    return lambda a: function(a["input"])


def _binary(function: Any) -> Callable[[Arrays], Any]:
    return lambda a: function(a["input0"], a["input1"])


def _reduced(function: Any) -> Callable[[Arrays], Any]:
    return lambda a: function(a["input"], axis=_axes(a))


NUMPY: dict[str, Callable[[Arrays], Any]] = {
    "ABS": _unary(np.abs),
    "EXP": _unary(np.exp),
    "FLOOR": _unary(np.floor),
    "LOG": _unary(np.log),
    "NEG": _unary(np.negative),
    "RSQRT": lambda a: 1 / np.sqrt(a["input"]),
    "SIN": _unary(np.sin),
    "SQRT": _unary(np.sqrt),
    "TANH": _unary(np.tanh),
    "LOGISTIC": lambda a: 1 / (1 + np.exp(-a["input"])),
    "RELU": lambda a: np.maximum(a["input"], 0),
    "RELU1": lambda a: np.clip(a["input"], -1, 1),
    "RELU6": lambda a: np.clip(a["input"], 0, 6),
    "LOGICAL_NOT": _unary(np.logical_not),
    "ADD": _binary(np.add),
    "SUB": _binary(np.subtract),
    "MUL": _binary(np.multiply),
    "DIV": lambda a: (np.divide if a["input0"].dtype.kind == "f" else np.floor_divide)(
        a["input0"], a["input1"]
    ),
    "MAXIMUM": _binary(np.maximum),
    "MINIMUM": _binary(np.minimum),
    "POW": lambda a: np.power(a["base"], a["exponent"]),
    "EQUAL": _binary(np.equal),
    "NOT_EQUAL": _binary(np.not_equal),
    "GREATER": _binary(np.greater),
    "GREATER_EQUAL": _binary(np.greater_equal),
    "LESS": _binary(np.less),
    "LESS_EQUAL": _binary(np.less_equal),
    "LOGICAL_AND": _binary(np.logical_and),
    "LOGICAL_OR": _binary(np.logical_or),
    "SELECT": lambda a: np.where(a["condition"], a["input1"], a["input2"]),
    "MEAN": _reduced(np.mean),
    "REDUCE_ALL": _reduced(np.all),
    "REDUCE_ANY": _reduced(np.any),
    "REDUCE_MAX": _reduced(np.max),
    "REDUCE_MIN": _reduced(np.min),
    "REDUCE_PROD": _reduced(np.prod),
    "REDUCE_SUM": _reduced(np.sum),
    "ARGMAX": lambda a: np.argmax(a["input"], -1),
    "ARGMIN": lambda a: np.argmin(a["input"], -1),
    "SOFTMAX": _softmax,
    "LOG_SOFTMAX": _log_softmax,
    "FULLY_CONNECTED": lambda a: a["input"] @ a["weights"].T + a["bias"],
    "BATCH_MATMUL": lambda a: a["lhs"] @ a["rhs"],
    "CONCATENATION": lambda a: np.concatenate(a["inputs"], 1),
    "PACK": lambda a: np.stack(a["inputs"], 1),
    "TILE": lambda a: np.tile(a["input"], a["multiples"]),
    "PAD": lambda a: np.pad(a["input"], a["paddings"]),
    "MIRROR_PAD": lambda a: np.pad(a["input"], a["paddings"], "reflect"),
    "TRANSPOSE": lambda a: np.ascontiguousarray(a["input"].transpose(a["perm"])),
    "REVERSE": lambda a: np.flip(a["input"], a["axis"].tolist()).copy(),
    "SLICE": _sliced,
    "STRIDED_SLICE": _strided,
    "SPLIT": lambda a: [part.copy() for part in np.split(a["input"], int(a["num_splits"]), 3)],
    "DEPTH_TO_SPACE": _depth_to_space,
    "SPACE_TO_DEPTH": _space_to_depth,
    "CHANNEL_SHUFFLE": _shuffled,
    "GATHER": lambda a: np.take(a["input"], a["indices"], 0),
    "EMBEDDING_LOOKUP": lambda a: np.take(a["values"], a["lookups"], 0),
    "FILL": lambda a: np.full(a["dims"], a["value"]),
    "RESHAPE": lambda a: a["input"].reshape(a["shape"]).copy(),
    "EXPAND_DIMS": lambda a: a["input"].copy(),
    "SQUEEZE": lambda a: a["input"].copy(),
}
