"""A graph that grows: every operation is computed by the reference device when it is added."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nnapi_shim.drivers.reference.arrays import dtype_of
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations import operation
from nnapi_shim.operations.declare import declared
from tests.operations.plans.common import DEPTHS, SIZES, Random
from tests.random_models.graph import COMPUTED, Graph, Item, Node, misdeclared, part
from tests.random_models.running import evaluate
from tests.single import CONSTANT, INPUT, Value

_ALL_SIZES = frozenset(SIZES + DEPTHS)


class Numbers(np.random.Generator):
    """Random numbers for plans; sizes are at most `largest`, and any up to it now and then."""

    largest = 64

    def choice(self, choices: Any, *args: Any, **kinds: Any) -> Any:
        """As in numpy; of the sizes that plans pick from, those above `largest` are left out."""
        if args or kinds:
            return super().choice(choices, *args, **kinds)
        if isinstance(choices, tuple) and len(choices) > 4 and _ALL_SIZES.issuperset(choices):
            if self.random() < 0.1:
                return int(self.integers(1, self.largest + 1))
            choices = [size for size in choices if size <= self.largest]
        return choices[int(self.integers(len(choices)))]


class Broken(Exception):  # noqa: N818 (a result of a test)
    """The reference device raised something that is no result code."""


class Growth:
    """A graph, and which of its tensors further operations can take.

    allowed: the operations that it may consist of.
    constants: how many of the tensors that are not computed are constants, 0 to 1; in a graph that
        an IF or WHILE refers to all are, but for its own inputs.
    special: whether contents are at the edges of their types, too.
    """

    def __init__(
        self,
        rng: Random,
        allowed: Collection[OperationType],
        constants: float,
        depth: int = 0,
        special: bool = False,
    ) -> None:
        self.rng = rng
        self.allowed = allowed
        self.constants = constants
        self.special = special
        self.depth = depth
        """Of the IFs and WHILEs that the graph is inside of."""
        self.graph = Graph(special=special)
        self.pool: dict[T, list[int]] = defaultdict(list)
        self._taken: dict[int, int] = {}
        """id of a Value -> index of the operand whose Value it is."""

    def chance(self, probability: float) -> bool:
        """True now and then."""
        return bool(self.rng.random() < probability)

    def value(self, index: int) -> Value:
        """An operand and its contents."""
        return self.graph.items[index].value

    # Operands

    def given(self, value: Value, kind: str = "") -> int:
        """Add an operand that is not computed, or find the one that has this very Value."""
        actual = self._taken.get(id(value))
        if actual is not None:
            return actual
        type, dimensions = value.operand.type, value.operand.dimensions
        if not kind:
            # What decides about shapes is a constant in most models, and takes a run apart where
            # it is not.
            decides = type in SCALARS or (type == T.TENSOR_INT32 and value.operand.scale == 0)
            share = 0.93 if decides else self.constants
            kind = CONSTANT if self.depth or self.chance(share) else INPUT
        shown = dimensions
        is_open = not value.is_omitted and value.operand.channel_quant is None
        if is_open and kind == INPUT and self.chance(0.1):
            shown = self._less_known(dimensions)
        return self._add(Item(value, kind, shown))

    def _less_known(self, dimensions: Dimensions) -> Dimensions:
        """Some sizes unknown, or all, or the rank."""
        if self.chance(0.3):
            return ()
        return tuple([0 if self.chance(0.6) else size for size in dimensions])

    def _add(self, item: Item) -> int:
        graph = self.graph
        graph.items.append(item)
        index = len(graph.items) - 1
        self._taken[id(item.value)] = index
        if item.value.array is not None:
            self.pool[item.value.operand.type].append(index)
        return index

    # Operations

    def add(
        self, type: OperationType, inputs: Sequence[Any], outputs: Sequence[Value]
    ) -> list[int]:
        """Add an operation: its inputs are indexes or Values; the indexes of its outputs.

        outputs: without contents. Raises what the reference device raises, and then adds nothing.
        """
        return self.add_node(Node(type, self.indexes(inputs), ()), outputs)

    def indexes(self, inputs: Sequence[Any]) -> tuple[int, ...]:
        """Indexes of operands, Values added to the graph."""
        return tuple([self.given(x) if isinstance(x, Value) else x for x in inputs])

    def add_node(self, node: Node, outputs: Sequence[Value]) -> list[int]:
        """As `add`, of a node without outputs."""
        inputs = [self.value(index) for index in node.inputs]
        try:
            arrays = evaluate(node, inputs, outputs)
        except NnapiError:
            raise
        except Exception as error:
            shown = part(self.with_failing(node, outputs), ()).shown("    ")
            raise Broken(f"nnapi-reference raises {error!r}\n{shown}") from error
        settled = self._is_settled(node)
        results = []
        for position, (output, array) in enumerate(zip(outputs, arrays, strict=True)):
            contents = np.array(array, dtype_of(output.operand.type), order="C")
            value = Value(output.operand._replace(dimensions=contents.shape), contents)
            index = self._computed(value, node, settled)
            if (
                output.operand.scale
                and self.chance(0.15)
                and _replaces(node, inputs, outputs, position)
            ):
                item = self.graph.items[index]
                self.graph.items[index] = item._replace(is_misdeclared=True)
            results.append(index)
        self.graph.nodes.append(node._replace(outputs=tuple(results)))
        return results

    def with_failing(self, node: Node, outputs: Sequence[Value]) -> Graph:
        """The graph so far, and an operation that is to fail."""
        graph = self.graph
        count = len(graph.items)
        items = [*graph.items, *(Item(value, COMPUTED, ()) for value in outputs)]
        failing = node._replace(outputs=tuple(range(count, len(items))))
        return replace(graph, items=items, nodes=list(graph.nodes), failing=failing)

    def _is_settled(self, node: Node) -> bool:
        if node.graphs or operation(node.type).data_dependent:
            return False
        return all(self.graph.items[index].is_settled for index in node.inputs)

    def _computed(self, value: Value, node: Node, settled: bool) -> int:
        dimensions = value.operand.dimensions
        shown = () if node.graphs else dimensions
        if not node.graphs and self.chance(0.15):
            shown = self._less_known(dimensions)
        return self._add(Item(value, COMPUTED, shown, self.chance(0.1), is_settled=settled))

    # Going back

    def mark(self) -> tuple[int, int]:
        """Where the graph is now."""
        return len(self.graph.items), len(self.graph.nodes)

    def back_to(self, mark: tuple[int, int]) -> None:
        """Drop what was added since."""
        items, nodes = mark
        for item in self.graph.items[items:]:
            self._taken.pop(id(item.value), None)
        del self.graph.items[items:]
        del self.graph.nodes[nodes:]
        for indexes in self.pool.values():
            while indexes and indexes[-1] >= items:
                indexes.pop()


def _replaces(node: Node, inputs: Sequence[Value], outputs: Sequence[Value], position: int) -> bool:
    """Whether an operation gives an output a scale and zero point of its own where it declares
    others; for an output of a model that is an error (semantics.md 2.2).
    """
    if node.graphs or operation(node.type).quantization is declared:
        return False
    if node.type is OperationType.SOFTMAX:  # it alone insists on the right ones
        return False
    wrong = misdeclared(outputs[position].operand)
    try:
        evaluate(node, inputs, [*outputs[:position], Value(wrong), *outputs[position + 1 :]])
    except NnapiError:
        return True
    return False
