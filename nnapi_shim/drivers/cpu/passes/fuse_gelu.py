"""GELU by its formula with TANH, nine operations, becomes one step that rounds as they do."""

from collections.abc import Sequence
from struct import unpack

from nnapi_shim.drivers.cpu.fused import Fused
from nnapi_shim.drivers.cpu.lowering.activation import GELU
from nnapi_shim.drivers.cpu.lowering.elements import TILE, shared
from nnapi_shim.drivers.cpu.passes.graph import Done, Graph, title
from nnapi_shim.drivers.cpu.record import Alias, Step
from nnapi_shim.hal.enums import FuseCode, OperandType, OperationType
from nnapi_shim.hal.types import Operation, element_count
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.operations.declare import BoundOperand

NAME = "fuse_gelu"
O = OperationType  # noqa: E741


def fuse_gelu(graph: Graph) -> None:
    """The product x * (TANH((x + x * x * x * a) * b) + c) * d of float32, where nobody else reads
    what is between; the factors of each product but the last two in any order.
    """
    for position, item in graph.each(O.TANH):
        found = _Match(graph).around(item)
        if found is None:
            continue
        source, target, numbers, places = found
        last = max(places)
        final = graph.operations[last]
        assert final is not None
        lower = _Gelu(numbers).lower
        fused = Fused(O.MUL, (source,), (target,), final.number, lower)
        for place in {*places, position} - {last}:
            graph.remove(place)
        graph.replace(last, fused)
        graph.done.append(Done(NAME, final.number, f"{title(final)}: with all of a GELU before"))


class _Found(NamedTuple):
    """A GELU: x, its result, the constants, the positions of its operations."""

    source: int
    target: int
    numbers: tuple[float, ...]
    places: set[int]


class _Gelu:
    """The step for it."""

    def __init__(self, numbers: tuple[float, ...]) -> None:
        self._numbers = numbers

    def lower(
        self, inputs: Sequence[BoundOperand], outputs: Sequence[BoundOperand]
    ) -> list[Step | Alias]:
        """One step, in place where that is legal."""
        names = ("cubic", "inner", "one", "half")
        numbers: dict[str, Any] = dict(zip(names, self._numbers, strict=True))
        step = Step(
            GELU,
            "gelu_f32",
            in_place="input",
            input=inputs[0],
            output=outputs[0],
            **shared(element_count(outputs[0].dimensions), TILE // 4),
            **numbers,
        )
        return [step]


class _Match:
    """Looks for the operations around a TANH."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._places: set[int] = set()

    def around(self, item: Operation) -> _Found | None:
        """All of them, or None."""
        graph = self._graph
        scaled = self._with_number(item.inputs[0], O.MUL)
        summands = scaled and self._two(scaled[0], O.ADD)
        if not scaled or not summands or not self._is_alone(item.inputs[0]):
            return None
        for source, other in (summands, summands[::-1]):
            places = set(self._places)
            cube = self._with_number(other, O.MUL)
            if cube and self._is_alone(other) and self._is_cube(cube[0], source):
                ends = self._behind(item.outputs[0], source)
                if ends and graph.is_plain(source):
                    target, one, half = ends
                    numbers = cube[1], scaled[1], one, half
                    return _Found(source, target, numbers, self._places)
            self._places = places
        return None

    def _behind(self, share: int, source: int) -> tuple[int, float, float] | None:
        """What follows the TANH: the result, what is added and what is multiplied with."""
        above = self._result(share)
        product = self._result(above)
        target = self._result(product)
        one = self._with_number(above, O.ADD)
        factors = self._two(product, O.MUL)
        half = self._with_number(target, O.MUL)
        if not one or not factors or not half or sorted(factors) != sorted((source, above)):
            return None
        return target, one[1], half[1]

    def _result(self, index: int) -> int:
        """The one result that an operand which nobody else needs goes into; -1 if there is none."""
        if not self._is_alone(index):
            return -1
        reader = self._graph.operations[self._graph.readers[index][0]]
        return reader.outputs[0] if reader is not None and len(reader.outputs) == 1 else -1

    def _is_alone(self, index: int) -> bool:
        graph = self._graph
        return index not in graph.outputs and len(graph.readers.get(index, ())) == 1

    def _is_cube(self, index: int, source: int) -> bool:
        factors = self._two(index, O.MUL)
        if factors is None or not self._is_alone(index) or source not in factors:
            return False
        square = factors[1] if factors[0] == source else factors[0]
        return self._is_alone(square) and self._two(square, O.MUL) == (source, source)

    def _two(self, index: int, type: OperationType) -> tuple[int, int] | None:
        """The operands of an operation of a type on float32 without an activation, of which an
        operand is the result, with its dimensions.
        """
        graph = self._graph
        position = graph.producer.get(index)
        item = None if position is None else graph.operations[position]
        if position is None or not isinstance(item, Operation) or item.type is not type:
            return None
        if graph.operands[index].type is not OperandType.TENSOR_FLOAT32:
            return None
        first, second, activation = item.inputs
        if graph.value(activation) != FuseCode.NONE or not graph.is_plain(index, first, second):
            return None
        self._places.add(position)
        return first, second

    def _with_number(self, index: int, type: OperationType) -> tuple[int, float] | None:
        """The same, with a constant of one number: the other operand, and the number."""
        graph, operands = self._graph, self._two(index, type)
        for number, other in (operands, operands[::-1]) if operands else ():
            is_number = element_count(graph.operands[number].dimensions) == 1
            keeps = graph.operands[other].dimensions == graph.operands[index].dimensions
            if is_number and keeps and graph.is_constant(number):
                return other, unpack("<f", graph.contents(number))[0]
        return None
