"""Merges DEQUANTIZE and QUANTIZE into one step from bytes to bytes, or removes an identity.

A table has the results of the two operations for all 256 values, with both float32 roundings. The
step looks them up, or computes them on a line (lowering/byte_lines.py).
"""

from nnapi_shim.drivers.cpu.lowering.byte_tables import Formula, rescaled
from nnapi_shim.drivers.cpu.lowering.elements import (
    LOOKUP,
    all_rounded_away,
    rescaling,
    shared,
    singles,
)
from nnapi_shim.drivers.cpu.passes.fused import Fused
from nnapi_shim.drivers.cpu.passes.graph.pattern import Op, matches
from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.drivers.cpu.program.record import Alias, Step
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hal.types import Operand, element_count
from nnapi_shim.hints import Sequence
from nnapi_shim.operations.declare import BoundOperand

BYTES = (OperandType.TENSOR_QUANT8_ASYMM, OperandType.TENSOR_QUANT8_ASYMM_SIGNED)
IDENTITY = bytes(range(256))
DEQUANTIZE = Op(OperationType.DEQUANTIZE, may_be_shared=True)
QUANTIZE = Op(OperationType.QUANTIZE, DEQUANTIZE)


def merge_quantization(graph: MutableGraph) -> None:
    """Merge each QUANTIZE whose input is the float32 result of a DEQUANTIZE of quantized bytes."""
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
            lower = Rescaling(table).lower
            fused = Fused(OperationType.QUANTIZE, (source,), (target,), item.number, lower)
            match.replace(QUANTIZE, fused)
            text = f"{title(item)}: requantizes the bytes that {title(first)} reads"
        graph.report(item, text)


class Translation:
    """The lowering of a lookup of bytes in a table of 256 bytes."""

    def __init__(self, table: bytes) -> None:
        self._table = table

    def lower(
        self, inputs: Sequence[BoundOperand], outputs: Sequence[BoundOperand]
    ) -> list[Step | Alias]:
        """One lookup step."""
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


class Rescaling(Translation):
    """The same where the table is that of other scales."""

    def lower(
        self, inputs: Sequence[BoundOperand], outputs: Sequence[BoundOperand]
    ) -> list[Step | Alias]:
        """One step."""
        source, target = inputs[0], outputs[0]
        ends = {"in_place": "input", "input": source, "output": target}
        return [rescaling(source, target, self._table, **ends)]


def _table(source: Operand, target: Operand) -> bytes:
    """The result for each byte."""
    return rescaled(source, target, requantized(source, target))


def requantized(source: Operand, target: Operand) -> Formula:
    """QUANTIZE(DEQUANTIZE(q)), each rounded to float32."""
    lowest, highest = QUANTIZED_RANGE[target.type]
    low, high = lowest - target.zero_point, highest - target.zero_point

    def formula(values: Sequence[int]) -> list[int]:
        real = singles([(q - source.zero_point) * source.scale for q in values])
        steps = singles([number / target.scale for number in real])
        clamped = [max(low, min(each, high)) for each in steps]
        return [int(each) + target.zero_point for each in all_rounded_away(clamped)]

    return formula
