"""What the recurrent operations share: float32 operands, packed matrices, products of all steps."""

from nnapi_shim.drivers.cpu.lowering.gemm import consecutive_rows, product_with
from nnapi_shim.drivers.cpu.lowering.packing import Filter, packed_filter, prepared_input
from nnapi_shim.drivers.cpu.lowering.rearrange import narrowed, widened
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling
from nnapi_shim.drivers.cpu.program.record import Buffer, Step
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.types import element_count
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.operations.declare import BoundOperand, BoundOperation

TILE_ROWS = 4
"""Tiles of a micro-kernel's rows in a tile of a recurrence; each of these reads all weights."""


class Rows(NamedTuple):
    """How the rows of a sequence lie, one for each batch and step.

    step_rows, batch_rows: from a row to that of the next step or batch.
    """

    steps: int
    batches: int
    step_rows: int
    batch_rows: int

    @property
    def total(self) -> int:
        """Number of rows."""
        return self.steps * self.batches


def rows_of(steps: int, batches: int, time_major: bool) -> Rows:
    """The rows of [steps, batches, ...], or of [batches, steps, ...]."""
    return Rows(steps, batches, *((batches, 1) if time_major else (1, steps)))


def float_in(operand: BoundOperand | None) -> tuple[list[Step], Any]:
    """An operand as float32: constants are widened at compilation."""
    if operand is None or operand.type is not OperandType.TENSOR_FLOAT16:
        return [], operand
    steps, buffer = widened(operand, element_count(operand.dimensions))
    for step in steps:
        step.once = True
    return steps, buffer


def float_out(operand: BoundOperand | None) -> tuple[Any, list[Step]]:
    """Where to write float32 numbers, and the steps that store them; nowhere for no operand."""
    if operand is None or operand.type is not OperandType.TENSOR_FLOAT16:
        return operand, []
    return narrowed(operand, element_count(operand.dimensions))


def matrix(weights: BoundOperand, bias: BoundOperand | None = None) -> Filter:
    """Weights [columns, depth] and a bias [columns], or one of zeros."""
    columns = weights.dimensions[0]
    return Filter(weights, bias or bytes(4 * columns), columns, 1, weights)


def packed(
    op: BoundOperation,
    weights: BoundOperand,
    tile_rows: int,
    geometry: Tiling,
    bias: BoundOperand | None = None,
    halved: bool = False,
) -> tuple[list[Step], Buffer]:
    """Weights and a bias as the micro-kernels read them, for a recurrence; halved: as float16."""
    depth = weights.dimensions[1]
    input = prepared_input(op, None, 0, depth, geometry)
    found = packed_filter(op, matrix(weights, bias), input, depth, tile_rows, geometry, halved)
    return [found.step], found.buffer


def products(
    op: BoundOperation, source: Any, count: int, weights: Filter, depth: int, geometry: Tiling
) -> tuple[list[Step], Buffer]:
    """What a cell takes from its input: float32 [count, columns] from rows of `depth` numbers."""
    target = Buffer(4 * count * weights.columns)
    input = prepared_input(op, source, count, depth, geometry)
    rows = consecutive_rows(source, count, 4 * depth, geometry.tile_rows(count))
    steps = product_with(op, weights, input, rows, depth, target, geometry, None)
    return steps, target
