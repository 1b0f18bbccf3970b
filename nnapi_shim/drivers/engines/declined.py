"""What engines get wrong, or crash with: their devices decline it.

Each row has the version in which it was seen.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

QUANTIZED = (
    "TENSOR_QUANT8_ASYMM",
    "TENSOR_QUANT8_ASYMM_SIGNED",
    "TENSOR_QUANT8_SYMM",
    "TENSOR_QUANT8_SYMM_PER_CHANNEL",
    "TENSOR_QUANT16_ASYMM",
    "TENSOR_QUANT16_SYMM",
)
HALVES = ("TENSOR_FLOAT16", "FLOAT16")


class Declined(NamedTuple):
    """A row: the operations, the uses, what is wrong, the version in which it was seen.

    applies: whether a node (formats/graph/tensor.py) is such a use. when: the same in words, as
    "with float16 tensors"; "" for all uses. devices: how the names of the devices begin that get it
    wrong; "" for all of the engine. in_vectors: whether a conformance vector shows it; else a test
    of the engine does.
    """

    operations: tuple[str, ...]
    applies: Callable[[Any], bool]
    when: str
    why: str
    seen: str
    devices: str | tuple[str, ...] = ""
    in_vectors: bool = True


def why_declined(rows: Sequence[Declined], device: str, node: Any) -> str:
    """Why a device declines a node, or ""."""
    for row in rows:
        if node.kind in row.operations and device.startswith(row.devices) and row.applies(node):
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
