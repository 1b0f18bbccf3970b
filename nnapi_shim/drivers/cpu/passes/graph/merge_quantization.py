"""A QUANTIZE of what a DEQUANTIZE gave: bytes become bytes, by a table where they differ.

The table has what the two operations make of each of the 256 values, in float32 and rounded twice
as they do it.
"""

from collections.abc import Sequence

from nnapi_shim.drivers.cpu.compile.fused import Fused
from nnapi_shim.drivers.cpu.lowering.byte_tables import Formula, rescaled
from nnapi_shim.drivers.cpu.lowering.elements import LOOKUP, all_rounded_away, shared, singles
from nnapi_shim.drivers.cpu.passes.graph.rewriter import Done, Graph, title
from nnapi_shim.drivers.cpu.program.record import Alias, Step
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hal.types import Operand, element_count
from nnapi_shim.operations.declare import BoundOperand

NAME = "merge_quantization"
BYTES = (OperandType.TENSOR_QUANT8_ASYMM, OperandType.TENSOR_QUANT8_ASYMM_SIGNED)
IDENTITY = bytes(range(256))


def merge_quantization(graph: Graph) -> None:
    """A QUANTIZE whose input a DEQUANTIZE writes, of bytes with a scale and in float32."""
    for position, item in graph.each(OperationType.QUANTIZE):
        real, target = item.inputs[0], item.outputs[0]
        place = graph.producer.get(real)
        first = None if place is None else graph.operations[place]
        if place is None or first is None or first.type is not OperationType.DEQUANTIZE:
            continue
        source = first.inputs[0]
        operands = [graph.operands[index] for index in (source, real, target)]
        if operands[0].type not in BYTES or operands[1].type is not OperandType.TENSOR_FLOAT32:
            continue
        if not graph.is_plain(source, real, target):
            continue
        table = _table(operands[0], operands[2])
        if table == IDENTITY and graph.are_alike(source, target) and target not in graph.outputs:
            graph.remove(position)
            graph.read_instead(target, source)
            what = f"{title(item)}: undoes {title(first)}"
        else:
            lower = Translation(table).lower
            graph.replace(
                position, Fused(OperationType.QUANTIZE, (source,), (target,), item.number, lower)
            )
            what = f"{title(item)}: reads the bytes that {title(first)} reads, through a table"
        if not graph.readers[real] and real not in graph.outputs:
            graph.remove(place)
        graph.done.append(Done(NAME, item.number, what))


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
    """What becomes of each byte."""
    return rescaled(source, target, requantized(source, target))


def requantized(source: Operand, target: Operand) -> Formula:
    """QUANTIZE of DEQUANTIZE, each rounded to float32."""
    lowest, highest = QUANTIZED_RANGE[target.type]
    low, high = lowest - target.zero_point, highest - target.zero_point

    def formula(values: Sequence[int]) -> list[int]:
        real = singles([(q - source.zero_point) * source.scale for q in values])
        steps = singles([number / target.scale for number in real])
        clamped = [max(low, min(each, high)) for each in steps]
        return [int(each) + target.zero_point for each in all_rounded_away(clamped)]

    return formula
