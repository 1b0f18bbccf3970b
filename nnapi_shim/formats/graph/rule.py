"""Rules of operations for exporting, and what rules ask about nodes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.api.arrays import DTYPES
from nnapi_shim.formats.graph.tensor import Array, Node, Tensor
from nnapi_shim.hal.types import Dimensions


class RefusedError(Exception):
    """The reason why the format cannot express an operation or one use of it."""


Native = Callable[[Node], bool]
"""Whether the target operators take the tensors of a node."""
Lower = Callable[[Any, Node], None]
"""Emits the nodes of an operation."""


class Rule(NamedTuple):
    """How a format expresses an operation.

    target: the target operators, for the documentation.
    lower: emits them; None where the format cannot express the operation.
    why: the reason if `lower` is None, else a remark on the results.
    native: whether the target operators take quantized tensors directly. If not, and always for
        float16, the operation is computed in float32 between a dequantization and a quantization.
    dynamic: names of inputs that determine shapes and that the model may compute.
    """

    target: str
    lower: Lower | None
    why: str = ""
    native: Native = lambda node: False
    dynamic: tuple[str, ...] = ()


def anything(node: Node) -> bool:
    """Whether the target operators take the tensors of a node: all types."""
    return True


def in_float(node: Node) -> bool:
    """Whether the target operators take the tensors of a node: no quantized ones."""
    return False


def row(
    kind: str,
    *inputs: str | Callable[[Node], Tensor],
    why: str = "",
    native: Native = in_float,
    dynamic: tuple[str, ...] = (),
    **options: Any,
) -> Rule:
    """An operation that is one node of the format, with the outputs of the operation.

    inputs: names of operands, by default all inputs, or functions that make them. options: name of
        an option of the node -> name of the operand with its value, or the value.
    """

    def lower(b: Any, op: Node) -> None:
        listed: list[Tensor | None] = []
        for item in inputs or op.input_names:
            value = getattr(op, item) if isinstance(item, str) else item(op)
            is_number = item in dynamic or not (value is None or isinstance(value, Tensor | list))
            value = b.integers(value) if is_number else value
            listed += value if isinstance(value, list) else [value]
        values = {k: getattr(op, v) if isinstance(v, str) else v for k, v in options.items()}
        b.emit(kind, listed, op.outputs, **values)

    return Rule(kind, lower, why, native, dynamic)


def known(t: Tensor, name: str) -> Dimensions:
    """The dimensions, of which only the first may be unknown; raises RefusedError."""
    if not t.dimensions or 0 in t.dimensions[1:]:
        raise RefusedError(f"the dimensions of {name} after the first are not known, or one is 0")
    return t.dimensions


def graph_inputs(node: Node) -> list[Tensor]:
    """The inputs of the graphs of an IF or WHILE; raises RefusedError for an omitted one."""
    inputs: list[Tensor] = node.inputs or []
    if any(value is None for value in inputs):
        raise RefusedError("an input of its graphs is omitted")
    return inputs


def pad_value(node: Node) -> Array:
    """The value of PAD_V2 as an element of the input; that of a quantized tensor is stored."""
    dtype = DTYPES[node.input.type]
    if node.input.is_quantized:
        return np.asarray(int(node.pad_value) & 255, np.uint8).view(dtype)
    return np.asarray(node.pad_value, dtype)


def last_axis(node: Node) -> bool:
    """Whether the axis is the last one of the input; raises RefusedError for an unknown rank."""
    if node.axis == -1:
        return True
    if not node.input.rank:
        raise RefusedError("the rank of input is not known")
    return bool(node.axis % node.input.rank == node.input.rank - 1)


def complete(t: Tensor, name: str) -> Dimensions:
    """The dimensions, all of them known; raises RefusedError."""
    if not t.dimensions or 0 in t.dimensions:
        raise RefusedError(f"the dimensions of {name} are not known, or one of them is 0")
    return t.dimensions


def same_parameters(*names: str) -> Callable[[Node], bool]:
    """A predicate: these tensors (or lists of them) have one type, scale and zero point."""

    def all_same(node: Node) -> bool:
        parameters: set[Any] = set()
        for name in names:
            value = node.named[name]
            parameters |= {t.parameters for t in (value if isinstance(value, list) else [value])}
        return len(parameters) == 1

    return all_same
