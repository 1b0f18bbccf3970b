"""CONCATENATION PACK TILE as steps.

Each input has a step that writes its part of every row of the output.
"""

from math import prod

from nnapi_shim.drivers.cpu.lowering.byte_tables import Formula, rescaled
from nnapi_shim.drivers.cpu.lowering.elements import all_rounded_away, all_saturated, singles
from nnapi_shim.drivers.cpu.lowering.strided import Axis, copied, moved, strides
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Alias, At, Buffer, Step, record
from nnapi_shim.hal.quantization import ELEMENT_BYTES, QUANTIZED_RANGE
from nnapi_shim.hal.types import element_count
from nnapi_shim.hints import Any, Sequence
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.rules import float32

REQUANTIZE = record(
    input=ADDRESS,
    output=ADDRESS,
    rows=INT64,
    bytes=INT64,
    input_step=INT64,
    output_step=INT64,
    tile_rows=INT64,
    table=ADDRESS,
)

TILE_BYTES = 1 << 15
"""About how many bytes a tile copies."""


def lower_concatenation(op: BoundOperation) -> list[Step]:
    """Copies inputs; requantizes quantized inputs with other parameters than the output."""
    output = op.output
    size = ELEMENT_BYTES[output.type]
    row_bytes = size * prod(output.dimensions[op.axis :])
    steps, offset = [], 0
    for operand in op.inputs:
        count = size * prod(operand.dimensions[op.axis :])
        if element_count(operand.dimensions):
            rows = element_count(operand.dimensions) * size // count
            same = (operand.scale, operand.zero_point) == (output.scale, output.zero_point)
            arguments = (operand, At(output, offset), rows, count, count, row_bytes)
            steps.append(copy_rows(*arguments) if same else _requantize(op, *arguments))
        offset += count
    return steps


def lower_pack(op: BoundOperation) -> list[Step | Alias]:
    """Copies inputs; a row of an input has the elements of one index of the axes before `axis`."""
    if len(op.inputs) == 1:
        return [Alias(op.inputs[0], op.output)]
    dimensions = op.output.dimensions
    count = ELEMENT_BYTES[op.output.type] * prod(dimensions[op.axis + 1 :])
    rows, row_bytes = prod(dimensions[: op.axis]), count * len(op.inputs)
    return [
        copy_rows(operand, At(op.output, number * count), rows, count, count, row_bytes)
        for number, operand in enumerate(op.inputs)
    ]


def lower_tile(op: BoundOperation) -> list[Step | Alias]:
    """A copy with two axes per dimension; the input stride of the repetitions is 0."""
    size = ELEMENT_BYTES[op.input.type]
    axes = []
    for length, times, step, output_step in zip(
        op.input.dimensions,
        op.multiples,
        strides(op.input.dimensions, size),
        strides(op.output.dimensions, size),
        strict=False,
    ):
        axes += [Axis(times, 0, length * output_step), Axis(length, step, output_step)]
    return moved(op.input, op.output, axes)


def copy_rows(
    source: Any, target: Any, rows: int, count: int, input_step: int, output_step: int
) -> Step:
    """Copy rows of `count` bytes. input_step, output_step: strides of the rows; 0 repeats a row."""
    axes = Axis(rows, input_step, output_step), Axis(count, 1, 1)
    return copied(source, target, axes, 1, once=isinstance(target, Buffer))


def _requantize(
    op: BoundOperation,
    operand: Any,
    target: Any,
    rows: int,
    count: int,
    input_step: int,
    output_step: int,
) -> Step:
    tile_rows = max(1, TILE_BYTES // count)
    return Step(
        REQUANTIZE,
        "requantize",
        tiles=-(-rows // tile_rows),
        input=operand,
        output=target,
        rows=rows,
        bytes=count,
        input_step=input_step,
        output_step=output_step,
        tile_rows=tile_rows,
        table=rescaled(operand, op.output, requantized(operand, op.output)),
    )


def requantized(operand: BoundOperand, target: BoundOperand) -> Formula:
    """zero_point + round(stored * scale + offset), in float32 (semantics.md 9).

    Signed values are shifted by 128 to unsigned, with both zero points.
    """
    kind, zero_point = target.type, target.zero_point
    lowest, _ = QUANTIZED_RANGE[kind]
    scale = float32(operand.scale * float32(1 / target.scale))
    offset = float32((lowest - operand.zero_point) * scale)

    def formula(values: Sequence[int]) -> list[int]:
        products = singles([(q - lowest) * scale for q in values])
        steps = all_rounded_away(singles([product + offset for product in products]))
        return all_saturated([step + zero_point for step in steps], kind)

    return formula
