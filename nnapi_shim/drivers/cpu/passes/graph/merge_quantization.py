"""A QUANTIZE of the result of a DEQUANTIZE: bytes become bytes, by a table where they differ.

The table has the results of the two operations for each of the 256 values, in float32 and rounded
twice as they do it.
"""

from collections.abc import Sequence

from nnapi_shim.drivers.cpu.lowering.elements import (
    LOOKUP,
    all_rounded_away,
    byte_table,
    shared,
    singles,
    stored,
)
from nnapi_shim.drivers.cpu.passes.fused import Fused
from nnapi_shim.drivers.cpu.passes.graph.pattern import Op, matches
from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.drivers.cpu.program.record import Alias, Step
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hal.types import Operand, element_count
from nnapi_shim.operations.declare import BoundOperand

BYTES = (OperandType.TENSOR_QUANT8_ASYMM, OperandType.TENSOR_QUANT8_ASYMM_SIGNED)
IDENTITY = bytes(range(256))
DEQUANTIZE = Op(OperationType.DEQUANTIZE, may_be_shared=True)
QUANTIZE = Op(OperationType.QUANTIZE, DEQUANTIZE)
_TINY, _HUGE = 1e-30, 1e30
"""Scales between which nothing leaves the range of float32."""


def merge_quantization(graph: MutableGraph) -> None:
    """A QUANTIZE whose input a DEQUANTIZE writes, of bytes with a scale and in float32."""
    for match in matches(graph, QUANTIZE):
        item, first = match[QUANTIZE], match[DEQUANTIZE]
        real, target, source = item.inputs[0], item.outputs[0], first.inputs[0]
        operands = [graph.operands[index] for index in (source, real, target)]
        if operands[0].type not in BYTES or operands[1].type is not OperandType.TENSOR_FLOAT32:
            continue
        if not graph.is_plain(source, real, target):
            continue
        table = _table(operands[0], operands[2])
        if table == IDENTITY and graph.are_alike(source, target) and target not in graph.outputs:
            match.replace(QUANTIZE, None)
            graph.replace_uses(target, source)
            text = f"{title(item)}: undoes {title(first)}"
        else:
            lower = Translation(table).lower
            fused = Fused(OperationType.QUANTIZE, (source,), (target,), item.number, lower)
            match.replace(QUANTIZE, fused)
            text = f"{title(item)}: reads the bytes that {title(first)} reads, through a table"
        graph.report(item, text)


class Translation:
    """Bytes through a table."""

    def __init__(self, table: bytes) -> None:
        self._table = table

    def lower(
        self, inputs: Sequence[BoundOperand], outputs: Sequence[BoundOperand]
    ) -> list[Step | Alias]:
        """One step for all of them."""
        count = element_count(outputs[0].dimensions)
        step = Step(
            LOOKUP,
            "lookup_b8",
            in_place="input",
            input=inputs[0],
            output=outputs[0],
            **shared(count),
            table=self._table,
        )
        return [step]


def _table(source: Operand, target: Operand) -> bytes:
    """The result for each byte."""
    lowest, highest = QUANTIZED_RANGE[target.type]
    low, high = lowest - target.zero_point, highest - target.zero_point
    # Up to 255 times a scale, divided by it, is less than a half from where it was.
    is_shifted = source.scale == target.scale and _TINY < source.scale < _HUGE

    if is_shifted:
        shift = target.zero_point - source.zero_point
        results = [max(lowest, min(q + shift, highest)) for q in stored(source.type)]
    else:
        real = singles([(q - source.zero_point) * source.scale for q in stored(source.type)])
        steps = singles([number / target.scale for number in real])
        clamped = [max(low, min(each, high)) for each in steps]
        results = [int(each) + target.zero_point for each in all_rounded_away(clamped)]
    return byte_table(source.type, results)
