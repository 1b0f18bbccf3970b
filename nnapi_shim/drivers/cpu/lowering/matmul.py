"""FULLY_CONNECTED as steps."""

from nnapi_shim.drivers.cpu.lowering.gemm import consecutive_rows, product
from nnapi_shim.drivers.cpu.lowering.packing import prepared_input
from nnapi_shim.drivers.cpu.lowering.rearrange import image_in, image_out
from nnapi_shim.drivers.cpu.lowering.tiling import tiling
from nnapi_shim.drivers.cpu.record import Step
from nnapi_shim.operations.declare import BoundOperation


def lower_fully_connected(op: BoundOperation) -> list[Step]:
    """The input flattened to [batch, depth], times the transposed weights [units, depth]."""
    geometry = tiling()
    batch = op.output.dimensions[0]
    depth = op.weights.dimensions[1]
    steps, source = image_in(op.input, False)
    target, after = image_out(op.output, False)
    input = prepared_input(op, source, batch, depth, geometry)
    rows = consecutive_rows(input.source, batch, input.row_bytes, geometry.tile_rows(batch))
    return steps + product(op, op.weights, input, rows, depth, target, geometry) + after
