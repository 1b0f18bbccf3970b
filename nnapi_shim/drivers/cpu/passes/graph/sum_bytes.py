"""Sums and means of float32 between DEQUANTIZE and QUANTIZE become sums of bytes, with the same
results: what REDUCE_SUM and MEAN of 8-bit tensors are in imported models.
"""

from nnapi_shim.drivers.cpu.lowering.reduction import quantized_sum
from nnapi_shim.drivers.cpu.passes.fused import Fused
from nnapi_shim.drivers.cpu.passes.graph.merge_quantization import BYTES
from nnapi_shim.drivers.cpu.passes.graph.pattern import Match, Op, Operand, matches
from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.drivers.cpu.program.record import Alias, Step
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hints import Sequence
from nnapi_shim.operations import bound_operand
from nnapi_shim.operations.declare import BoundOperand

O = OperationType  # noqa: E741
REAL = Op(O.DEQUANTIZE, Operand("x"), is_real=True)
SUM = Op((O.REDUCE_SUM, O.MEAN), REAL, is_real=True)
QUANTIZED = Op(O.QUANTIZE, SUM)


def sum_bytes(graph: MutableGraph) -> None:
    """Fuse the three operations where the axes are constants."""
    for match in matches(graph, QUANTIZED):
        source, target = match.operand("x"), match[QUANTIZED].outputs[0]
        lowering = _lowering(graph, match, source, target)
        if lowering is None:
            continue
        item, last = match[SUM], match[QUANTIZED]
        fused = Fused(O.QUANTIZE, (source,), last.outputs, last.number, lowering.lower)
        match.replace(QUANTIZED, fused)
        graph.report(last, f"{title(last)}: with {title(item)} of bytes")


class _QuantizedSum:
    """The lowering of a fused sum."""

    def __init__(self, axes: frozenset[int], is_mean: bool) -> None:
        self._axes, self._is_mean = axes, is_mean

    def lower(
        self, inputs: Sequence[BoundOperand], outputs: Sequence[BoundOperand]
    ) -> list[Step | Alias]:
        """One step."""
        step = self.step(inputs[0], outputs[0])
        assert step is not None
        return [step]

    def step(self, source: BoundOperand, target: BoundOperand) -> Step | None:
        """The step, if there is one."""
        return quantized_sum(source, target, self._axes, self._is_mean)


def _lowering(graph: MutableGraph, match: Match, source: int, target: int) -> _QuantizedSum | None:
    """The lowering of a match, unless it is to stay."""
    operands, item = graph.operands, match[SUM]
    axes, keeps = (graph.value(index) for index in item.inputs[1:])
    if axes is None or keeps is None or not graph.is_plain(target):
        return None
    if operands[source].type not in BYTES or operands[target].type not in BYTES:
        return None
    rank = len(operands[source].dimensions)
    lowering = _QuantizedSum(frozenset(axis % rank for axis in axes), item.type is O.MEAN)
    ends = (bound_operand(index, operands[index]) for index in (source, target))
    return None if lowering.step(*ends) is None else lowering
