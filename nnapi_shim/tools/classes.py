"""The best classes of outputs that are scores, and the labels of classes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nnapi_shim.api.argument import Argument
from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import bad_data
from nnapi_shim.tools.inputs import real

MOST_CLASSES, FEW_SCORES = 5, 8
"""The number of classes reported by default, and the number of scores that are not classes without
labels.
"""


@dataclass(frozen=True)
class Class:
    """A class of a classifier: its index, its score as a real number, its label or ""."""

    index: int
    score: float
    label: str


def classes(
    arguments: Sequence[Argument],
    outputs: Sequence[Array],
    top: int | None = None,
    labels: Sequence[str] | None = None,
) -> list[tuple[Class, ...]]:
    """The best classes of each output, as in `run`; empty for outputs that are no scores.

    Raises BAD_DATA for labels, or a number of classes, if no output has such scores.
    """
    is_row = [_is_row(*each) for each in zip(arguments, outputs, strict=True)]
    if (top or labels is not None) and not any(is_row):
        raise bad_data(
            "no output is a row of scores; labels and a number of classes need one",
            "tool.run.no-scores",
        )
    if labels is not None:
        counts = [array.size for array, row in zip(outputs, is_row, strict=True) if row]
        if len(labels) not in counts:
            raise bad_data(
                f"{len(labels)} labels given; the model has {counts[0]} classes",
                "tool.run.label-count",
            )
        is_row = [
            row and array.size == len(labels) for array, row in zip(outputs, is_row, strict=True)
        ]
    elif top is None:
        is_row = [len(outputs) == 1 and row and _is_classifier(outputs[0]) for row in is_row]
    best = MOST_CLASSES if top is None else top
    return [
        _best(real(array, argument), best, labels) if row else ()
        for argument, array, row in zip(arguments, outputs, is_row, strict=True)
    ]


def _is_row(argument: Argument, array: Array) -> bool:
    """Whether an output is a single row of real numbers."""
    is_real = array.dtype.kind == "f" or bool(argument.scale)
    return is_real and array.size > 1 and array.shape[-1] == array.size


def _is_classifier(array: Array) -> bool:
    """Whether the only output is likely to be scores."""
    return array.ndim <= 2 and array.size > FEW_SCORES


def _best(scores: Array, count: int, labels: Sequence[str] | None) -> tuple[Class, ...]:
    scores = scores.reshape(-1)
    order = np.argsort(-scores, kind="stable")[:count]
    return tuple(
        Class(int(at), float(scores[at]), "" if labels is None else labels[at]) for at in order
    )


def read_labels(path: str | os.PathLike[str]) -> list[str]:
    """Names of classes from a text file, one per line; leading line numbers are removed.

    Raises OSError, and BAD_DATA for a file that is not text.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise bad_data(
            f"{os.fspath(path)} is no text with a label in each line", "tool.run.labels-file"
        ) from None
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise bad_data(f"{os.fspath(path)} is empty", "file.empty")
    words = [line.strip().split(None, 1) for line in lines]
    if all(word and word[0].rstrip(":,") == str(at) for at, word in enumerate(words)):
        return [word[1] if len(word) > 1 else "" for word in words]
    return [line.strip() for line in lines]
