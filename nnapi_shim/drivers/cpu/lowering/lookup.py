"""GATHER EMBEDDING_LOOKUP HASHTABLE_LOOKUP LSH_PROJECTION as steps."""

from math import prod

from nnapi_shim.drivers.cpu.lowering.images import widened
from nnapi_shim.drivers.cpu.lowering.tiling import tile_of
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Buffer, Step, record
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hal.types import byte_size, element_count
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.lookup import DENSE, SPARSE

GATHER = record(
    input=ADDRESS, indices=ADDRESS, output=ADDRESS,
    size=INT64, count=INT64, slices=INT64, bytes=INT64, tile_slices=INT64,
)  # fmt: skip
HASHTABLE = record(
    lookups=ADDRESS, keys=ADDRESS, values=ADDRESS, output=ADDRESS, hits=ADDRESS,
    count=INT64, rows=INT64, bytes=INT64, tile_lookups=INT64,
)  # fmt: skip
LSH = record(
    seeds=ADDRESS, input=ADDRESS, weight=ADDRESS, output=ADDRESS, scratch=ADDRESS,
    hashes=INT64, bits=INT64, items=INT64, item_bytes=INT64, dense=INT64, offset=INT64,
    tile_hashes=INT64, scratch_step=INT64,
)  # fmt: skip

TILE_BYTES = 1 << 15
"""Bytes per tile, about."""

TILE_HASHED_BYTES = 1 << 18
"""Hashed bytes per tile, about."""


def lower_gather(op: BoundOperation) -> list[Step]:
    """View the input as [outer, size, bytes]; `size` runs along the axis."""
    dimensions = op.input.dimensions
    axis = op.axis % len(dimensions)
    return [_gather(op.input, op.indices, op.output, axis)]


def lower_embedding_lookup(op: BoundOperation) -> list[Step]:
    """GATHER along the first axis."""
    return [_gather(op.values, op.lookups, op.output, 0)]


def _gather(source: BoundOperand, indices: BoundOperand, target: BoundOperand, axis: int) -> Step:
    dimensions = source.dimensions
    count = element_count(indices.dimensions)
    slices = prod(dimensions[:axis]) * count
    slice_bytes = prod(dimensions[axis + 1 :]) * ELEMENT_BYTES[source.type]
    length = slices * slice_bytes  # what fits into one tile is copied in less than 1 us
    tile_bytes = tile_of(TILE_BYTES, length) if length > TILE_BYTES else TILE_BYTES
    tile_slices = max(1, tile_bytes // slice_bytes)
    return Step(
        GATHER,
        "gather",
        tiles=-(-slices // tile_slices),
        complaint=f"an index lies outside of 0 to {dimensions[axis] - 1}",
        input=source,
        indices=indices,
        output=target,
        size=dimensions[axis],
        count=count,
        slices=slices,
        bytes=slice_bytes,
        tile_slices=tile_slices,
    )


def lower_hashtable_lookup(op: BoundOperation) -> list[Step]:
    """A binary search for every lookup.

    Difference: the reference assumes one key per row of values, and reads out of bounds otherwise.
    """
    count, rows = op.lookups.dimensions[0], op.values.dimensions[0]
    row_bytes = byte_size(op.values) // rows
    tile_lookups = max(1, TILE_BYTES // row_bytes)
    step = Step(
        HASHTABLE,
        "hashtable_lookup",
        tiles=-(-count // tile_lookups),
        writes=("output", "hits"),
        lookups=op.lookups,
        keys=op.keys,
        values=op.values,
        output=op.output,
        hits=op.hits,
        count=count,
        rows=min(rows, op.keys.dimensions[0]),
        bytes=row_bytes,
        tile_lookups=tile_lookups,
    )
    return [step]


def lower_lsh_projection(op: BoundOperation) -> list[Step]:
    """A tile is several hashes with all of their bits; items are hashed sequentially."""
    hashes, bits = op.hash.dimensions
    items = op.input.dimensions[0]
    item_bytes = byte_size(op.input) // items
    tile_hashes = max(1, TILE_HASHED_BYTES // (bits * items * (item_bytes + 4)))
    tiles = -(-hashes // tile_hashes)
    # A float64 sum per bit, then a seed and an item.
    scratch_step = -(-(8 * min(hashes, tile_hashes) * bits + 4 + item_bytes) // 64) * 64
    steps, seeds = _as_float32(op.hash)
    weight: Any = None
    if op.weight is not None:
        more, weight = _as_float32(op.weight)
        steps += more
    step = Step(
        LSH,
        "lsh_projection",
        tiles=tiles,
        seeds=seeds,
        input=op.input,
        weight=weight,
        output=op.output,
        scratch=Buffer(tiles * scratch_step),
        hashes=hashes,
        bits=bits,
        items=items,
        item_bytes=item_bytes,
        dense=op.type == DENSE,
        offset=1 << bits if op.type == SPARSE else 0,
        tile_hashes=tile_hashes,
        scratch_step=scratch_step,
        writes=("output", "scratch"),
    )
    return [*steps, step]


def _as_float32(operand: BoundOperand) -> tuple[list[Step], Any]:
    if operand.type is not OperandType.TENSOR_FLOAT16:
        return [], operand
    return widened(operand, element_count(operand.dimensions))
