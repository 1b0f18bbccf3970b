"""GELU by its formula with TANH, nine operations, becomes one step that rounds as they do."""

from collections.abc import Sequence

from nnapi_shim.drivers.cpu.compile.fused import Fused
from nnapi_shim.drivers.cpu.lowering.activation import GELU
from nnapi_shim.drivers.cpu.lowering.elements import TILE, shared
from nnapi_shim.drivers.cpu.passes.graph.formula import Formula
from nnapi_shim.drivers.cpu.passes.graph.rewriter import Done, Graph, title
from nnapi_shim.drivers.cpu.program.record import Alias, Step
from nnapi_shim.hal.enums import OperationType
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


def is_ordinary(cubic: float, inner: float, one: float, half: float) -> bool:
    """Whether the step, which clamps nothing but the product with x, and that from above, gives
    what the operations do, which clamp all that they multiply and add.

    What the TANH is given exceeds float32 only from |x| = 2^39 on. It is then more than 2^97 with
    and without clamps, with the sign of x, and its hyperbolic tangent is the same. A negative x is
    multiplied with 0 to 1.
    """
    factors_are = all(2.0**-10 <= factor <= 16 for factor in (cubic, inner))
    return factors_are and one == 1 and abs(half) <= 1


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


class _Match(Formula):
    """Looks for the operations around a TANH."""

    def around(self, item: Operation) -> _Found | None:
        """All of them, or None."""
        graph = self.graph
        scaled = self.with_number(item.inputs[0], O.MUL)
        summands = scaled and self.two(scaled[0], O.ADD)
        if not scaled or not summands:
            return None
        if not self.is_alone(item.inputs[0]) or not self.is_alone(scaled[0]):
            return None
        for source, other in (summands, summands[::-1]):
            places = set(self.places)
            cube = self.with_number(other, O.MUL)
            if cube and self.is_alone(other) and self._is_cube(cube[0], source):
                ends = self._behind(item.outputs[0], source)
                if ends and graph.is_plain(source):
                    target, one, half = ends
                    numbers = cube[1], scaled[1], one, half
                    if is_ordinary(*numbers):
                        return _Found(source, target, numbers, self.places)
            self.places = places
        return None

    def _behind(self, share: int, source: int) -> tuple[int, float, float] | None:
        """What follows the TANH: the result, what is added and what is multiplied with."""
        above = self.result(share)
        product = self.result(above)
        target = self.result(product)
        one = self.with_number(above, O.ADD)
        factors = self.two(product, O.MUL)
        half = self.with_number(target, O.MUL)
        if not one or not factors or not half or sorted(factors) != sorted((source, above)):
            return None
        return target, one[1], half[1]

    def _is_cube(self, index: int, source: int) -> bool:
        factors = self.two(index, O.MUL)
        if factors is None or not self.is_alone(index) or source not in factors:
            return False
        square = factors[1] if factors[0] == source else factors[0]
        return self.is_alone(square) and self.two(square, O.MUL) == (source, source)
