"""A model under construction, with the values of a graph by name."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import DTYPES, Array
from nnapi_shim.api.operand import Operand
from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.importing.allocation import Room
from nnapi_shim.formats.importing.operations import Operations
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Argument, File, Graph, Node
from nnapi_shim.formats.onnx.importing.value import (
    BYTES,
    FIRST,
    LAST,
    OPERAND_TYPES,
    Value,
    picked,
)
from nnapi_shim.formats.onnx.schema import NAMES
from nnapi_shim.formats.onnx.tensor import Constant
from nnapi_shim.hal.enums import OperandType as T

MOST_RANK = 4
"""The highest rank of most NNAPI operations."""

UNIFORM = 1024
"""From so many equal elements on, a constant is a FILL."""

Key = tuple[str, Any]


class Importing(Operations):
    """A model under construction. Nodes are lowered in the order of the file."""

    def __init__(self, file: File, graph: Graph, room: Room, hints: Mapping[str, Any]) -> None:
        super().__init__(room)
        self.file = file
        self.graph = graph
        self.hints = hints
        """Name of a tensor of bytes -> scale and zero point with which it is read."""
        self.values: dict[str, Value] = {}
        self.missing: set[str] = set()
        """Outputs of refused nodes."""
        self.unreadable: dict[str, str] = {}
        """Value that no operand can hold -> why."""
        self.lower: Callable[[Importing, Node], None] = lambda graph, node: None
        """Lowers a node."""
        self.depth = 0
        self._cache: dict[tuple[str, Any], Operand] = {}
        self._fresh = 0
        self._read: set[str] | None = None
        self.quantized: dict[str, Any] = {}
        """Dequantized value -> the names of its bytes, scale and zero point."""
        self.deferred: dict[str, Node] = {}
        """Dequantized value -> its node, which is lowered when the value is read."""
        self.done: set[int] = set()
        """Nodes, by id, that were lowered together with others before them."""
        self._readers: dict[str, list[Node]] | None = None

    @property
    def opset(self) -> int:
        """The version of the standard operators."""
        return self.file.opset

    def lower_all(self, nodes: Sequence[Node]) -> None:
        """Lower the nodes of an inner graph; raises BAD_DATA for the first that cannot be."""
        for node in nodes:
            try:
                self.lower(self, node)
            except NnapiError as error:
                raise error.at(f"operator {node.number} {node.kind} of an inner graph") from None

    # Values

    def value(self, name: str) -> Value:
        """The value of a name."""
        if name in self.deferred:
            self.lower(self, self.deferred.pop(name))
        if name in self.unreadable:
            raise reason(self.unreadable[name], "import.onnx.value-unreadable")
        known = self.values.get(name)
        if known is None and name in self.graph.constants:
            known = self.values[name] = constant_value(name, self.graph.constants[name])
        if known is None:
            if not name:
                raise reason("a required input is omitted", "import.onnx.input-omitted")
            raise reason(f"{name[:80]!r} has no value", "import.onnx.no-value")
        return known

    def has(self, node: Node, at: int) -> bool:
        """Whether a node has an optional input."""
        return at < len(node.inputs) and bool(node.inputs[at])

    def is_output(self, name: str) -> bool:
        """Whether a value is an output of the graph."""
        return any(item.name == name for item in self.graph.outputs)

    def only_reader(self, name: str) -> Node | None:
        """The node of this graph that alone reads a value."""
        if self._readers is None:
            self._readers = {}
            for item in self.graph.nodes:
                for read in item.inputs:
                    self._readers.setdefault(read, []).append(item)
            if _has_inner(self.graph):
                self._readers = {}  # inner graphs may read any value
        readers = self._readers.get(name, [])
        return readers[0] if len(readers) == 1 and not self.is_output(name) else None

    def require_unread(self, node: Node, start: int, what: str) -> None:
        """Refuse a node of which outputs from a position on are read."""
        if self._read is None:
            self._read = {item.name for item in self.graph.outputs} | {
                name for item in self.graph.nodes for name in item.inputs
            }
            if _has_inner(self.graph):
                self._read.update(name for item in self.graph.nodes for name in item.outputs)
        if any(name in self._read for name in node.outputs[start:] if name):
            raise reason(f"{what} are read", "import.onnx.output-unsupported")

    def array(self, name: str) -> Array | None:
        """The contents of a constant; None for computed values."""
        item = self.value(name)
        if item.array is None and item.operand is None:
            raise reason(
                f"{name[:80]!r} is {item.type}, which NNAPI does not have", "import.onnx.type"
            )
        return item.array

    def constant(self, name: str, what: str) -> Array:
        """The contents of a value that must be known at import."""
        array = self.array(name)
        if array is None:
            raise reason(f"{what} ({name[:80]!r}) is no constant", "import.onnx.not-constant")
        return array

    def numbers(self, name: str, what: str) -> list[int]:
        """Integers that must be known at import."""
        array = self.constant(name, what)
        if array.dtype.kind not in "iu":
            raise reason(f"{what} ({name[:80]!r}) is {array.dtype}", "import.onnx.not-integers")
        if array.size > 1024:
            raise reason(f"{what} has {array.size} numbers", "import.onnx.number-count")
        return [int(number) for number in array.reshape(-1)]

    def fold(self, name: str, array: Array, type: str | None = None) -> None:
        """Record a value that is known at import."""
        if type is None:
            type = NAMES[array.dtype]
        self.values[name] = Value(name, type, array.shape, array)

    def typed(self, node: Node, *allowed: str) -> Value:
        """The first input of a node, of one of the element types."""
        item = self.value(node.inputs[0])
        if item.type not in allowed:
            raise reason(f"its input is {item.type}", "import.onnx.type")
        return item

    def folded(self, array: Array, type: str | None = None) -> str:
        """A new name for a value that is known at import."""
        name = self.fresh()
        self.fold(name, array, type)
        return name

    def operand_type(self, type: str, what: str = "it") -> T:
        """The operand type of an element type."""
        if type not in OPERAND_TYPES:
            raise reason(f"{what} is {type}, which NNAPI does not have", "import.onnx.type")
        return OPERAND_TYPES[type]

    # Operands

    def operand(self, name: str) -> Operand:
        """The operand of a value with the dimensions of the graph; [1] for rank 0."""
        item = self.value(name)
        if item.rank > MOST_RANK:
            raise reason(
                f"{name[:80]!r} has {item.rank} dimensions; NNAPI's operation takes {MOST_RANK}",
                "import.onnx.rank",
            )
        if item.operand is None:
            return self._cached((name, "first"), lambda: self.constant_operand(item))
        if item.is_last:
            return self._cached((name, "first"), lambda: self.moved(item.operand, FIRST))
        return item.operand

    def image(self, name: str) -> Operand:
        """The operand of a value of rank 4 with its channels last."""
        item = self.value(name)
        if item.rank != 4:
            raise reason(f"{name[:80]!r} has {item.rank} dimensions", "import.onnx.image-rank")
        if item.is_last and item.operand is not None:
            return item.operand
        if item.array is not None:
            moved = item._replace(array=item.array.transpose(LAST), shape=picked(item.shape, LAST))
            return self._cached((name, "last"), lambda: self.constant_operand(moved))
        return self._cached((name, "last"), lambda: self.moved(self.operand(name), LAST))

    def stored(self, name: str) -> tuple[Operand, bool]:
        """The operand of a value as it is stored, and whether its channels are last."""
        item = self.value(name)
        is_last = item.is_last and item.rank == 4
        return (self.image(name) if is_last else self.operand(name)), is_last

    def along(self, name: str, axis: int) -> tuple[Operand, int, bool]:
        """An operand for an operation along an axis, the axis in it, and whether its channels are
        last. The dimensions on both sides of the axis are merged if there are too many.
        """
        shape = self.value(name).shape
        if len(shape) > MOST_RANK:
            sides = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
            return self.reshaped(self.elements(name), sides), 1, False
        operand, is_last = self.stored(name)
        return operand, LAST.index(axis) if is_last else axis, is_last

    def elements(self, name: str) -> Operand:
        """An operand with the elements of a value in order, of any dimensions."""
        item = self.value(name)
        if item.rank <= MOST_RANK:
            return self.operand(name)
        if item.operand is None:
            array = self.array(name)
            flat = item._replace(
                array=None if array is None else array.reshape(-1), shape=(math.prod(item.shape),)
            )
            return self._cached((name, "flat"), lambda: self.constant_operand(flat))
        return item.operand

    def _cached(self, key: Key, make: Callable[[], Operand]) -> Operand:
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    def constant_operand(self, item: Value) -> Operand:
        """A constant of the model."""
        array = item.array
        if array is None:
            raise reason(
                f"{item.name[:80]!r} is {item.type}, which NNAPI does not have", "import.onnx.type"
            )
        kind = self.operand_type(item.type, f"{item.name[:80]!r}")
        if 0 in array.shape:
            raise reason(f"{item.name[:80]!r} has no elements", "import.onnx.empty")
        array = array.reshape(array.shape or (1,))
        if item.type == "INT64":
            limits = np.iinfo(np.int32)
            if not limits.min <= array.min() <= array.max() <= limits.max:
                raise reason(
                    f"{item.name[:80]!r} has numbers beyond 32 bits", "import.onnx.int64-range"
                )
        if array.size >= UNIFORM and not any(array.strides) and item.type in ("FLOAT", "INT32"):
            return self.filled(array.shape, array.flat[0].item())
        if not array.flags.c_contiguous or array.dtype != DTYPES[kind]:
            self.room.take(array.size * DTYPES[kind].itemsize, f"{item.name[:80]!r}")
        array = np.ascontiguousarray(array, DTYPES[kind])
        quantized = item.type in BYTES
        scale, zero = self.hints.get(item.name, (1.0, 0)) if quantized else (0.0, 0)
        return self.model.constant(array, kind, scale, zero)

    def moved(self, operand: Operand | None, perm: Sequence[int]) -> Operand:
        """A TRANSPOSE, or a RESHAPE if the order of the elements stays."""
        assert operand is not None
        sizes = operand.dimensions
        shape = tuple(sizes[axis] for axis in perm)
        wide = [axis for axis in perm if sizes[axis] != 1]
        if wide == sorted(wide):
            return self.reshaped(operand, shape)
        if operand.type in (T.TENSOR_INT32, T.TENSOR_BOOL8):
            raise reason(
                f"NNAPI does not transpose {operand.type.name}", "import.onnx.transpose.type"
            )
        return self.make("TRANSPOSE", [operand, np.array(perm, np.int32)])

    def raw(self, operand: Operand, scale: float, zero_point: int) -> Operand:
        """The same bytes with another scale and zero point."""
        scale = float(np.float32(scale))
        if operand.scale == scale and operand.zero_point == zero_point:
            return operand
        if operand.value is not None:
            return self.model.constant(operand.value, operand.type, scale, zero_point)
        return self.make("CAST", [operand], output=operand.type, scale=scale, zero_point=zero_point)

    def reshaped(self, operand: Operand, shape: Sequence[int]) -> Operand:
        """A RESHAPE; of booleans as numbers."""
        shape = tuple(shape) or (1,)
        if operand.type is not T.TENSOR_BOOL8 or operand.dimensions == shape:
            return super().reshaped(operand, shape)
        values = [self.filled(operand.dimensions, value) for value in (1, 0)]
        numbers = super().reshaped(self.make("SELECT", [operand, *values]), shape)
        return self.make("NOT_EQUAL", [numbers, np.zeros(1, np.int32)])

    # Results

    def give(
        self,
        node: Node,
        operand: Operand,
        type: str,
        shape: Sequence[int] | None = None,
        *,
        at: int = 0,
        is_last: bool = False,
    ) -> None:
        """Make an operand an output of a node.

        shape: in the graph; by default that of the operand.
        """
        if at < len(node.outputs) and node.outputs[at]:
            self.define(node.outputs[at], operand, type, shape, is_last)

    def give_elements(
        self, node: Node, operand: Operand, type: str, shape: Sequence[int], *, at: int = 0
    ) -> None:
        """Make an operand with the elements of an output, in their order, that output."""
        if len(shape) <= MOST_RANK:
            operand = self.reshaped(operand, shape)
        self.give(node, operand, type, shape, at=at)

    def define(
        self,
        name: str,
        operand: Operand,
        type: str,
        shape: Sequence[int] | None = None,
        is_last: bool = False,
    ) -> None:
        """Set the operand of a name."""
        if shape is None:
            shape = picked(operand.dimensions, FIRST) if is_last else operand.dimensions
        self.values[name] = Value(name, type, tuple(shape), None, operand, is_last)
        is_own = not (is_last and self.is_output(name)) and name.isprintable()
        if not operand.name and is_own and operand.value is None:
            self.model.name_operand(operand, name)

    def alias(self, node: Node, source: str) -> None:
        """Make the output of a node the same value as an input."""
        item = self.value(source)
        self.values[node.outputs[0]] = item._replace(name=node.outputs[0])

    def fresh(self) -> str:
        """A name for a value that the graph does not have."""
        self._fresh += 1
        return f"\0{self._fresh}"

    # Inputs and outputs

    def take(self, item: Argument, shape: tuple[int, ...], like: Operand | None = None) -> None:
        """Make a value the next input of the model.

        like: an operand with the scale and zero point of bytes.
        """
        type = self.operand_type(item.type, f"input {item.name[:80]!r}")
        scale, zero = self.hints.get(item.name, (1.0, 0)) if item.type in BYTES else (0.0, 0)
        if like is not None:
            scale, zero = like.scale, like.zero_point
        operand = self.model.input(type, shape or (1,), scale, zero, name=item.name)
        self.inputs.add(operand.index)
        self.values[item.name] = Value(item.name, item.type, shape, None, operand)

    def output(self, name: str) -> Operand:
        """The operand of an output: written by an operation, and of no other output."""
        item = self.value(name)
        operand = self.elements(name)
        if item.rank > MOST_RANK and operand.dimensions != item.shape:
            raise reason(
                f"output {name[:80]!r} has {item.rank} dimensions; NNAPI has at most {MOST_RANK}",
                "import.onnx.rank",
            )
        return self.own_output(operand)

    def copy(self, operand: Operand) -> Operand:
        """A new operand with the same contents."""
        try:
            return super().copy(operand)
        except NnapiError:
            raise reason(f"NNAPI does not copy {operand}", "import.onnx.copy") from None


def constant_value(name: str, item: Constant) -> Value:
    """The value of a constant of the file."""
    return Value(name, item.type, item.shape, item.array)


def _has_inner(graph: Graph) -> bool:
    """Whether a node has a graph of its own."""
    values = (value for node in graph.nodes for value in node.attributes.values())
    return any(isinstance(value, Graph) for value in values)
