"""What engines get wrong, or crash with: their devices decline it.

Each row has the version in which it was seen.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

HALVES = ("TENSOR_FLOAT16", "FLOAT16")


class Declined(NamedTuple):
    """A row: the operations, when, why, and the version of the engine in which it was seen.

    applies: whether a node (formats/graph/tensor.py) is of this kind.
    """

    operations: tuple[str, ...]
    applies: Callable[[Any], bool]
    why: str
    seen: str


def why_declined(rows: Sequence[Declined], node: Any) -> str:
    """Why a node is declined, or ""."""
    for row in rows:
        if node.kind in row.operations and row.applies(node):
            return f"{row.why} (seen in {row.seen})"
    return ""


def has_type(*names: str) -> Callable[[Any], bool]:
    """A predicate: an input or output of the node has one of these types."""

    def applies(node: Any) -> bool:
        return any(t.type.name in names for t in (*_inputs(node), *node.outputs))

    return applies


def _inputs(node: Any) -> list[Any]:
    """The tensors that a node reads; those of IF and WHILE too."""
    return [t for t in node.tensors if hasattr(t, "type")]


def always(node: Any) -> bool:
    """A predicate: every node."""
    return True
