"""Shared by the recurrent operations: float32 operands, packed matrices, input products."""

from nnapi_shim.drivers.cpu.lowering.descriptor import ProductDescriptor
from nnapi_shim.drivers.cpu.lowering.digit_products import (
    capacity_of,
    digit_bytes,
    digit_columns,
    packed_for_digits,
)
from nnapi_shim.drivers.cpu.lowering.gemm import consecutive_rows, multiplied_with
from nnapi_shim.drivers.cpu.lowering.images import narrowed, widened
from nnapi_shim.drivers.cpu.lowering.packing import Filter, packed_filter, prepared_input
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling, tier
from nnapi_shim.drivers.cpu.lowering.weight_format import FLOAT32, INT8, weight_bytes
from nnapi_shim.drivers.cpu.program.record import Buffer, Step
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.types import element_count
from nnapi_shim.hints import Any, NamedTuple, Sequence
from nnapi_shim.operations.declare import BoundOperand, BoundOperation

TILE_ROWS = 4
"""Micro-kernel row tiles in a tile of a recurrence; each tile reads all weights."""


class Rows(NamedTuple):
    """The layout of a sequence: one row per batch and time step.

    step_rows, batch_rows: strides in rows of a time step and of a batch.
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
    """(steps before, memory of an operand as float32); constants are widened at compilation."""
    if operand is None or operand.type is not OperandType.TENSOR_FLOAT16:
        return [], operand
    steps, buffer = widened(operand, element_count(operand.dimensions))
    for step in steps:
        step.once = True
    return steps, buffer


def float_out(operand: BoundOperand | None) -> tuple[Any, list[Step]]:
    """(memory for an operand as float32, steps after); memory is None for no operand."""
    if operand is None or operand.type is not OperandType.TENSOR_FLOAT16:
        return operand, []
    return narrowed(operand, element_count(operand.dimensions))


def matrix(weights: BoundOperand, bias: BoundOperand | None = None) -> Filter:
    """The Filter of weights [columns, depth] and a bias [columns]; None for a bias of 0."""
    columns = weights.dimensions[0]
    return Filter(weights, bias or bytes(4 * columns), columns, 1, weights)


def recurrent_weight_bytes(weights: Sequence[BoundOperand], tile_rows: int) -> int:
    """The bytes of a packed weight of all matrices of a recurrence; only those of a single row are
    not float32.
    """
    if tile_rows > 1:
        return FLOAT32
    sizes = {weight_bytes(each, tile_rows, 1) for each in weights}
    return sizes.pop() if len(sizes) == 1 else FLOAT32


def panel_columns(size: int, geometry: Tiling) -> int:
    """Columns of a panel of packed weights of `size` bytes."""
    return digit_columns(tier()) if size == INT8 else geometry.columns


def digit_fields(size: int, depth: int, geometry: Tiling) -> dict[str, Any]:
    """The fields `digits` and `capacity` of a kernel: room for the digits of a state of up to
    `depth` elements, if the bytes of a packed weight ask for it.
    """
    if size != INT8:
        return {"digits": None, "capacity": 0}
    return {
        "digits": Buffer(digit_bytes(depth, geometry)),
        "capacity": capacity_of(depth, geometry),
    }


def packed(
    op: BoundOperation,
    weights: BoundOperand,
    tile_rows: int,
    geometry: Tiling,
    bias: BoundOperand | None = None,
    size: int = FLOAT32,
) -> tuple[list[Step], Buffer]:
    """(step, packed weights and bias) for a recurrence; size: bytes of a packed weight."""
    product = ProductDescriptor(op.variant, quantized=False)
    depth = weights.dimensions[1]
    if size == INT8:
        step, buffer, _ = packed_for_digits(matrix(weights, bias), depth, geometry)
        return [step], buffer
    input = prepared_input(product, None, 0, depth, geometry)
    filter = packed_filter(product, matrix(weights, bias), input, depth, tile_rows, geometry, size)
    return [filter.step], filter.buffer


def products(
    op: BoundOperation, source: Any, count: int, weights: Filter, depth: int, geometry: Tiling
) -> tuple[list[Step], Buffer]:
    """(steps, input contribution of a cell): float32 [count, columns] from rows of `depth`."""
    product = ProductDescriptor(op.variant, quantized=False)
    target = Buffer(4 * count * weights.columns)
    input = prepared_input(product, source, count, depth, geometry)
    rows = consecutive_rows(source, count, 4 * depth, geometry.tile_rows(count))
    steps = multiplied_with(product, weights, input, rows, depth, target, geometry)
    return steps, target
