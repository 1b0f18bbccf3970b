"""Fuses the nine operations of a layer normalisation into one step, with the same rounding."""

from nnapi_shim.drivers.cpu.lowering.reduction import layer_norm
from nnapi_shim.drivers.cpu.passes.fused import Fused
from nnapi_shim.drivers.cpu.passes.graph.pattern import (
    Constants,
    Number,
    Op,
    Operand,
    matches,
    real,
)
from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.drivers.cpu.program.record import Alias, Step
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Operation
from nnapi_shim.hints import Sequence
from nnapi_shim.operations.declare import BoundOperand

O = OperationType  # noqa: E741
LEAST, MOST = 2.0**-60, 2.0**60
"""Bounds of epsilon, the addend of the variance, and of the magnitude of gain and bias. Within
them, no quotient exceeds sqrt(length), and no result overflows float32.
"""
LONGEST = 1 << 18
"""The largest row length: the kernel checks the deadline only between rows."""


def _is_over_last(graph: MutableGraph, item: Operation) -> bool:
    """Whether a MEAN reduces the last dimension and keeps it with size 1."""
    source, axes, keeps = item.inputs
    last = len(graph.operands[source].dimensions) - 1
    keep = graph.value(keeps)
    return graph.value(axes) in ((last,), (-1,)) and keep is not None and keep > 0


def _mean(of: Op | Operand) -> Op:
    return real(O.MEAN, of, accepts=_is_over_last)


X = Operand("x")
APART = real(O.SUB, X, _mean(X))
VARIANCE = _mean(real(O.MUL, APART, APART))
DEVIATION = real(O.SQRT, real(O.ADD, Number("least"), VARIANCE))
QUOTIENT = real(O.DIV, APART, DEVIATION)
LAYER_NORM = real(O.ADD, Constants("bias"), real(O.MUL, Constants("gain"), QUOTIENT))
"""(x - MEAN(x)) / SQRT(MEAN((x - MEAN(x))^2) + least) * gain + bias."""


def fuse_layer_norm(graph: MutableGraph) -> None:
    """Fuse float32 layer normalisation over the last dimension, with constant gain and bias."""
    for match in matches(graph, LAYER_NORM):
        source, gain, bias = map(match.operand, ("x", "gain", "bias"))
        operands, least = graph.operands, match.number("least")
        length = operands[source].dimensions[-1]
        if not 2 <= length <= LONGEST or not LEAST <= least <= MOST:
            continue
        if any(operands[index].dimensions[-1] != length for index in (gain, bias)):
            continue
        if not all(_is_ordinary(graph, index) for index in (gain, bias)):
            continue
        last = match[LAYER_NORM]
        lower = _LayerNorm(least).lower
        match.replace(
            LAYER_NORM, Fused(O.ADD, (source, gain, bias), last.outputs, last.number, lower)
        )
        graph.report(last, f"{title(last)}: with all of a layer normalisation before")


def _is_ordinary(graph: MutableGraph, index: int) -> bool:
    """Whether products and sums with the values of a constant stay finite."""
    return all(abs(number) <= MOST for number in graph.value(index))


class _LayerNorm:
    """The lowering of a fused layer normalisation. least: epsilon, added to the variance."""

    def __init__(self, least: float) -> None:
        self._least = least

    def lower(
        self, inputs: Sequence[BoundOperand], outputs: Sequence[BoundOperand]
    ) -> list[Step | Alias]:
        """One step, in place where that is legal."""
        source, gain, bias = inputs
        return [layer_norm(source, outputs[0], gain, bias, self._least)]
