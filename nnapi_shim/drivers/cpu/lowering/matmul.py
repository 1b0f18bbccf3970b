"""FULLY_CONNECTED and BATCH_MATMUL as steps."""

from math import prod

from nnapi_shim.drivers.cpu.lowering.bounds import quantized_bounds
from nnapi_shim.drivers.cpu.lowering.descriptor import (
    ProductDescriptor,
    described_product,
    is_quantized,
)
from nnapi_shim.drivers.cpu.lowering.fixed_point import decomposed
from nnapi_shim.drivers.cpu.lowering.gemm import (
    consecutive_rows,
    in_bytes,
    multiplied,
    multiplied_with,
)
from nnapi_shim.drivers.cpu.lowering.images import image_in, image_out, narrowed, widened
from nnapi_shim.drivers.cpu.lowering.packing import Filter, prepared_input
from nnapi_shim.drivers.cpu.lowering.strided import Axis, copied, strides
from nnapi_shim.drivers.cpu.lowering.tiling import tiling
from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32_MAX, INT64, Buffer, Step, record
from nnapi_shim.hal.enums import FuseCode
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hal.types import element_count
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.matmul import Matrices, matrices
from nnapi_shim.operations.rules import float32

SIZES = {
    "lhs": ADDRESS,
    "rhs": ADDRESS,
    "output": ADDRESS,
    "sums": ADDRESS,
    "rows": INT64,
    "depth": INT64,
    "columns": INT64,
    "rhs_bytes": INT64,
    "tile_rows": INT64,
    "matrix_tiles": INT64,
}
"""A tile is tile_rows rows of a matrix. rhs_bytes: stride of the matrices of rhs, or 0. sums: 4
bytes for each of up to PART columns, per tile."""

MATMUL = record(**SIZES)
MATMUL_QUANTIZED = record(
    **SIZES,
    lhs_zero=INT64,
    rhs_zero=INT64,
    mantissa=INT64,
    exponent=INT64,
    low=INT64,
    high=INT64,
    zero_point=INT64,
)

PART = 1024
"""Columns that are accumulated at a time: the sums stay in the L1 cache."""

FEW_ROWS = 2
"""Rows of lhs up to which packing rhs does not pay."""

FEW_COLUMNS = 4
"""Columns up to which dot products along the depth are faster than the packed product."""

PRODUCTS_PER_TILE = 1 << 20
"""Multiplications per tile, at most."""


def lower_fully_connected(op: BoundOperation) -> list[Step]:
    """The input flattened to [batch, depth], times the transposed weights [units, depth]."""
    product = described_product(op)
    geometry = tiling(product.quantized)
    batch = op.output.dimensions[0]
    depth = op.weights.dimensions[1]
    steps, source = image_in(op.input, False)
    target, after = image_out(op.output, False)
    tile_rows = geometry.tile_rows(batch)
    terms, shifted = in_bytes(op.weights, tile_rows, geometry)
    input = prepared_input(product, source, batch, depth, geometry, terms, shifted)
    rows = consecutive_rows(input.source, batch, input.row_bytes, tile_rows)
    return steps + multiplied(product, op.weights, input, rows, depth, target, geometry) + after


def lower_batch_matmul(op: BoundOperation) -> list[Step]:
    """Both sides are first transposed to the layout of the kernel: lhs to [count, rows, depth]; rhs
    to [count, columns, depth] for dot products and for quantized packing, otherwise to [count,
    depth, columns]. Then float16 is widened; the results are narrowed.
    """
    sizes = matrices(op)
    count, rhs_count = prod(sizes.batch), prod(op.rhs.dimensions[:-2])
    if rhs_count == 1:  # all rows of lhs as one matrix
        sizes = Matrices((), count * sizes.rows, sizes.depth, sizes.columns)
    along_depth = sizes.columns <= FEW_COLUMNS
    unpacked = along_depth or op.variant == "i32" or sizes.rows <= FEW_ROWS
    by_columns = along_depth or (is_quantized(op) and not unpacked)
    lhs_steps, lhs = _ordered(op.lhs, op.lhs, op.adj_x, count)
    rhs_steps, rhs = _repeated(op.rhs, sizes)
    more, rhs = _ordered(rhs, op.rhs, op.adj_y != by_columns, prod(sizes.batch))
    steps = lhs_steps + rhs_steps + more
    target: Any = op.output
    after: list[Step] = []
    if op.variant == "f16":
        widen_lhs, lhs = widened(lhs, element_count(op.lhs.dimensions))
        widen_rhs, rhs = widened(rhs, prod(sizes.batch) * sizes.depth * sizes.columns)
        target, after = narrowed(op.output, element_count(op.output.dimensions))
        for step in widen_rhs:
            step.once = True
        steps += widen_lhs + widen_rhs
    if unpacked:
        steps.append(_unpacked_product(op, sizes, lhs, rhs, target, along_depth))
    else:
        steps += _product(op, sizes, lhs, rhs, target)
    return steps + after


def _ordered(
    source: Any, operand: BoundOperand, is_transposed: bool, count: int
) -> tuple[list[Step], Any]:
    """Copy `count` matrices with the dimensions of `operand`, transposed, if is_transposed."""
    if not is_transposed:
        return [], source
    rows, columns = operand.dimensions[-2:]
    size = ELEMENT_BYTES[operand.type]
    matrix = rows * columns * size
    buffer = Buffer(count * matrix)
    axes = [
        Axis(count, matrix, matrix),
        Axis(columns, size, rows * size),
        Axis(rows, columns * size, size),
    ]
    return [copied(source, buffer, axes, size, once=True)], buffer


def _repeated(rhs: BoundOperand, sizes: Matrices) -> tuple[list[Step], Any]:
    """The matrices of rhs, broadcast to the batch dimensions of the product."""
    if prod(rhs.dimensions[:-2]) == prod(sizes.batch):
        return [], rhs
    size = ELEMENT_BYTES[rhs.type]
    rows, columns = rhs.dimensions[-2:]
    buffer = Buffer(prod(sizes.batch) * rows * columns * size)
    target_dimensions = (*sizes.batch, rows, columns)
    steps = zip(rhs.dimensions, strides(rhs.dimensions, size), strict=True)
    axes = [
        Axis(length, step if own > 1 else 0, target)
        for length, (own, step), target in zip(
            target_dimensions, steps, strides(target_dimensions, size), strict=True
        )
    ]
    return [copied(rhs, buffer, axes, size, once=True)], buffer


def _product(op: BoundOperation, sizes: Matrices, lhs: Any, rhs: Any, target: Any) -> list[Step]:
    """A packed product: every matrix of lhs is an image, every matrix of rhs its filter."""
    geometry = tiling(is_quantized(op))
    count, rows, depth, columns = prod(sizes.batch), sizes.rows, sizes.depth, sizes.columns
    product = ProductDescriptor(op.variant, is_quantized(op), op.lhs, op.output)
    factors = [_scale(op)] * columns if product.quantized else []
    input = prepared_input(product, lhs, count * rows, depth, geometry)
    order = consecutive_rows(input.source, rows, input.row_bytes, geometry.tile_rows(rows))
    order = order._replace(images=count, image_bytes=rows * input.row_bytes)
    no_bias = bytes(4 * columns)
    filter = Filter(
        rhs, no_bias, columns, 1, op.rhs, factors, count, depth_first=not product.quantized
    )
    return multiplied_with(product, filter, input, order, depth, target, geometry)


def _unpacked_product(
    op: BoundOperation, sizes: Matrices, lhs: Any, rhs: Any, target: Any, along_depth: bool
) -> Step:
    """A product without packing; lhs and rhs have the layout of the kernel."""
    count, rows, depth, columns = prod(sizes.batch), sizes.rows, sizes.depth, sizes.columns
    tile_rows = min(rows, max(1, PRODUCTS_PER_TILE // (depth * columns)))
    matrix_tiles = -(-rows // tile_rows)
    tiles = count * matrix_tiles
    layout, quantized = MATMUL, {}
    kind = "f32" if op.variant == "f16" else op.variant
    if is_quantized(op):
        layout = MATMUL_QUANTIZED
        low, high = quantized_bounds(FuseCode.NONE, op.output)
        # A multiplier beyond float32 saturates every sum except 0.
        mantissa, exponent = decomposed(min(_scale(op), FLOAT32_MAX))
        quantized = {
            "lhs_zero": op.lhs.zero_point,
            "rhs_zero": op.rhs.zero_point,
            "mantissa": mantissa,
            "exponent": exponent,
            "low": low,
            "high": high,
            "zero_point": op.output.zero_point,
        }
    return Step(
        layout,
        f"{'matmul_dot' if along_depth else 'matmul'}_{kind}",
        tiles=tiles,
        lhs=lhs,
        rhs=rhs,
        output=target,
        sums=None if along_depth else Buffer(4 * PART * tiles),
        rows=rows,
        depth=depth,
        columns=columns,
        rhs_bytes=depth * columns * (1 if is_quantized(op) else 4) if count > 1 else 0,
        tile_rows=tile_rows,
        matrix_tiles=matrix_tiles,
        **quantized,
    )


def _scale(op: BoundOperation) -> float:
    """lhs.scale * rhs.scale / output.scale (semantics.md 7.6)."""
    product = float32(op.lhs.scale * op.rhs.scale)
    scale: float = product / op.output.scale
    return scale
