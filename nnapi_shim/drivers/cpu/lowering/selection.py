"""SELECT, ARGMAX, ARGMIN and TOPK_V2 as steps."""

from math import prod

from nnapi_shim.drivers.cpu.lowering.elements import ELEMENTS, TILE, requantize, shared
from nnapi_shim.drivers.cpu.lowering.images import image_in, image_out
from nnapi_shim.drivers.cpu.lowering.suppression import HISTOGRAM_BYTES
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Buffer, Space, Step, record
from nnapi_shim.hal.quantization import ELEMENT_BYTES, QUANTIZED_RANGE
from nnapi_shim.hal.types import element_count
from nnapi_shim.operations.declare import BoundOperation

SELECT = record(
    Space.ELEMENTS, condition=ADDRESS, input1=ADDRESS, input2=ADDRESS, output=ADDRESS, **ELEMENTS
)
EXTREME = record(
    input=ADDRESS,
    output=ADDRESS,
    outer=INT64,
    length=INT64,
    inner=INT64,
    flip=INT64,
    tile_blocks=INT64,
    scratch=ADDRESS,
)
"""The argument of the maximum along `length` of [outer, length, inner]. A tile is tile_blocks rows
if inner is 1, otherwise blocks of up to LANES lanes. flip: XOR mask of every element, which
reverses the order for ARGMIN. scratch: 4 bytes per lane and tile."""

TOPK = record(
    input=ADDRESS,
    values=ADDRESS,
    indices=ADDRESS,
    rows=INT64,
    length=INT64,
    k=INT64,
    flip=INT64,
    capacity=INT64,
    tile_rows=INT64,
    scratch=ADDRESS,
    scratch_bytes=INT64,
)
"""capacity: of the candidate buffer; a tile has `scratch_bytes` of scratch."""

LANES = 1024
"""Lanes that are processed together if the axis is not the innermost one."""

CHUNK = 64
"""Elements of a row between two checks of the free capacity for candidates."""

ROOM = 2048
"""The smallest capacity of the candidate buffer, for rows of at least as many elements."""

MANY_TILES = 16
"""Tiles of a TOPK_V2, at most: each has its own scratch memory."""

BYTE_ORDER = {"qu8": 0, "qs8": 0x80}
"""XOR mask that converts stored bytes to unsigned."""


def lower_select(op: BoundOperation) -> list[Step]:
    """Requantizes quantized inputs with other parameters than the output, then selects."""
    steps, sources = [], [op.input1, op.input2]
    if op.output.type in QUANTIZED_RANGE:  # a TENSOR_INT32 may have a scale, too
        for i, operand in enumerate(sources):
            before, sources[i] = requantize(operand, op.output)
            steps += before
    count = element_count(op.output.dimensions)
    select = Step(
        SELECT,
        f"select_{8 * ELEMENT_BYTES[op.output.type]}",
        in_place="input1",
        condition=op.condition,
        input1=sources[0],
        input2=sources[1],
        output=op.output,
        **shared(count),
    )
    return [*steps, select]


def lower_argmax(op: BoundOperation) -> list[Step]:
    """Compares stored values: all elements have the same scale."""
    return _extreme(op, BYTE_ORDER.get(op.variant, 0))


def lower_argmin(op: BoundOperation) -> list[Step]:
    """The maximum in reversed order."""
    reverse = {"f32": -(2**31), "f16": -(2**31), "i32": -1, "qu8": 0xFF, "qs8": 0x7F}
    return _extreme(op, reverse[op.variant])


def _extreme(op: BoundOperation, flip: int) -> list[Step]:
    """ARGMAX of elements XOR `flip`; float16 is widened first."""
    dimensions = op.input.dimensions
    axis = op.axis % len(dimensions)
    outer, length, inner = prod(dimensions[:axis]), dimensions[axis], prod(dimensions[axis + 1 :])
    blocks = outer * -(-inner // LANES)
    tile_blocks = max(1, TILE // (length * min(inner, LANES)))
    count = -(-blocks // tile_blocks)
    kernel = "arg_extreme" if inner == 1 else "arg_extreme_lanes"
    steps, source = image_in(op.input, False)
    step = Step(
        EXTREME,
        f"{kernel}_{_stored(op.variant)}",
        tiles=count,
        input=source,
        output=op.output,
        outer=outer,
        length=length,
        inner=inner,
        flip=flip,
        tile_blocks=tile_blocks,
        scratch=Buffer(4 * LANES * count) if inner > 1 else None,
    )
    return [*steps, step]


def lower_topk_v2(op: BoundOperation) -> list[Step]:
    """Collects candidates in a buffer; sorts it when it is full, and keeps the best k. float16 is
    widened before and narrowed after.
    """
    before, source = image_in(op.input, False)
    values, after = image_out(op.values, False)
    *outer, length = op.input.dimensions
    rows = prod(outer)
    tile_rows = max(1, TILE // length, -(-rows // MANY_TILES))
    count = -(-rows // tile_rows)
    capacity = min(length, max(2 * op.k, ROOM)) + CHUNK
    scratch_bytes = 2 * 8 * capacity + HISTOGRAM_BYTES
    step = Step(
        TOPK,
        f"topk_{_stored(op.variant)}",
        tiles=count,
        writes=("values", "indices"),
        input=source,
        values=values,
        indices=op.indices,
        rows=rows,
        length=length,
        k=op.k,
        flip=BYTE_ORDER.get(op.variant, 0),
        capacity=capacity,
        tile_rows=tile_rows,
        scratch=Buffer(scratch_bytes * count),
        scratch_bytes=scratch_bytes,
    )
    return [*before, step, *after]


def _stored(variant: str) -> str:
    """The kernel suffix of a variant: one for all byte types, and float32 for float16."""
    return {"qu8": "b8", "qs8": "b8", "f16": "f32"}.get(variant, variant)
