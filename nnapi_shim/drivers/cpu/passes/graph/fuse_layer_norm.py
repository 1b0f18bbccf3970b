"""Layer normalisation by its formula, nine operations, becomes one step that rounds as they do."""

from collections.abc import Sequence

from nnapi_shim.drivers.cpu.compile.fused import Fused
from nnapi_shim.drivers.cpu.lowering.reduction import layer_norm
from nnapi_shim.drivers.cpu.passes.graph.formula import Formula
from nnapi_shim.drivers.cpu.passes.graph.rewriter import Done, Graph, title
from nnapi_shim.drivers.cpu.program.record import Alias, Step
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Operation
from nnapi_shim.hints import NamedTuple
from nnapi_shim.operations.declare import BoundOperand

NAME = "fuse_layer_norm"
O = OperationType  # noqa: E741
LEAST, MOST = 2.0**-60, 2.0**60
"""What is added to the variance, and the size of other constants: with these, no quotient is larger
than the root of the length, and what follows is far from the largest float32.
"""
LONGEST = 1 << 18
"""Numbers in a row: the kernel looks at the clock between rows alone."""


def fuse_layer_norm(graph: Graph) -> None:
    """The result (x - MEAN(x)) / SQRT(MEAN((x - MEAN(x))^2) + a) * b + c of float32, where nobody
    else reads what is between: means over the last dimension, b and c constants of its length.
    """
    for _, item in graph.each(O.SQRT):
        found = _Match(graph).around(item)
        if found is None:
            continue
        last = max(found.places)
        final = graph.operations[last]
        assert final is not None
        inputs = found.source, found.gain, found.bias
        lower = _LayerNorm(found.least).lower
        for place in found.places - {last}:
            graph.remove(place)
        graph.replace(last, Fused(O.ADD, inputs, (found.target,), final.number, lower))
        what = f"{title(final)}: with all of a layer normalisation before"
        graph.done.append(Done(NAME, final.number, what))


class _Found(NamedTuple):
    """A layer normalisation: its operands, and the positions of its operations."""

    source: int
    gain: int
    bias: int
    target: int
    least: float
    places: set[int]


class _LayerNorm:
    """The step for it."""

    def __init__(self, least: float) -> None:
        self._least = least

    def lower(
        self, inputs: Sequence[BoundOperand], outputs: Sequence[BoundOperand]
    ) -> list[Step | Alias]:
        """One step, in place where that is legal."""
        source, gain, bias = inputs
        return [layer_norm(source, outputs[0], gain, bias, self._least)]


class _Match(Formula):
    """Looks for the operations around a SQRT."""

    def around(self, item: Operation) -> _Found | None:
        """All of them, or None."""
        above = self.with_number(item.inputs[0], O.ADD)
        if not above or not self.is_alone(item.inputs[0]):
            return None
        square = self._mean(above[0])
        factors = self.two(square, O.MUL) if self.is_alone(square) else None
        if not factors or factors[0] != factors[1]:
            return None
        apart = factors[0]
        terms = self.two(apart, O.SUB)
        if not terms or not self.is_alone(apart, 3) or self._mean(terms[1]) != terms[0]:
            return None
        quotient = self.result(item.outputs[0])
        product = self.result(quotient)
        target = self.result(product)
        length = self.graph.operands[apart].dimensions[-1]
        gained = self.with_constant(product, O.MUL, length)
        biased = self.with_constant(target, O.ADD, length)
        if self.two(quotient, O.DIV) != (apart, item.outputs[0]) or not gained or not biased:
            return None
        (found, gain), (sum, bias) = gained, biased
        operands, source = self.graph.operands, terms[0]
        if found != quotient or sum != product or not 2 <= length <= LONGEST:
            return None
        if any(operands[index].dimensions[-1] != length for index in (gain, bias)):
            return None
        if not LEAST <= above[1] <= MOST or not all(map(self._is_ordinary, (gain, bias))):
            return None
        self.places.add(self.graph.producer[item.outputs[0]])
        return _Found(source, gain, bias, target, above[1], self.places)

    def _is_ordinary(self, index: int) -> bool:
        """Whether products and sums with the numbers of a constant stay finite."""
        return all(abs(number) <= MOST for number in self.graph.value(index))

    def _mean(self, index: int) -> int:
        """What an operand that is read once is the mean of, over the last dimension, which it
        keeps; -1 if it is none.
        """
        item = self.made_by(index, O.MEAN) if self.is_alone(index) else None
        if item is None:
            return -1
        source, axes, keeps = item.inputs
        last = len(self.graph.operands[source].dimensions) - 1
        keep = self.graph.value(keeps)
        is_last = self.graph.value(axes) in ((last,), (-1,)) and keep is not None and keep > 0
        return source if is_last else -1
