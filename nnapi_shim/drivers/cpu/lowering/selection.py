"""SELECT, ARGMAX, ARGMIN and TOPK_V2 as steps."""

from math import prod

from nnapi_shim.drivers.cpu.lowering.elements import ELEMENTS, TILE, requantize, shared
from nnapi_shim.drivers.cpu.lowering.rearrange import image_in, image_out
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
"""Of [outer, length, inner]. A tile is tile_blocks rows if inner is 1, otherwise blocks of up to
LANES lanes. flip: what is xor-ed to the bits of every element, which turns their order round.
scratch: 4 bytes per lane and tile."""

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
"""capacity: candidates that there is room for; a tile has `scratch_bytes` of scratch."""

LANES = 1024
"""Lanes that are searched together where the axis is not the innermost one."""

CHUNK = 64
"""Elements of a row that are looked at between two looks at the room for candidates."""

ROOM = 2048
"""Candidates that are worth sorting at once, if there are so many."""

MANY_TILES = 16
"""Tiles of a TOPK_V2: each has memory of its own."""

DIGITS = 4 * 256 * 8
"""Bytes of the counts of four digits that candidates are sorted by."""

BYTE_ORDER = {"qu8": 0, "qs8": 0x80}
"""What makes unsigned numbers of stored bytes."""


def lower_select(op: BoundOperation) -> list[Step]:
    """Quantized inputs with other parameters than the output are requantized before."""
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
    """Stored values are compared: the type has one scale."""
    return _extreme(op, BYTE_ORDER.get(op.variant, 0))


def lower_argmin(op: BoundOperation) -> list[Step]:
    """The maximum in the reverse order."""
    reverse = {"f32": -(2**31), "f16": -(2**31), "i32": -1, "qu8": 0xFF, "qs8": 0x7F}
    return _extreme(op, reverse[op.variant])


def _extreme(op: BoundOperation, flip: int) -> list[Step]:
    """float16 is widened before."""
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
    """Candidates are collected, and sorted whenever their room is full, to keep the best k. float16
    is widened before and narrowed after.
    """
    before, source = image_in(op.input, False)
    values, after = image_out(op.values, False)
    *outer, length = op.input.dimensions
    rows = prod(outer)
    tile_rows = max(1, TILE // length, -(-rows // MANY_TILES))
    count = -(-rows // tile_rows)
    capacity = min(length, max(2 * op.k, ROOM)) + CHUNK
    scratch_bytes = 2 * 8 * capacity + DIGITS
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
    """The variant as the kernels see it, which take all bytes alike."""
    return {"qu8": "b8", "qs8": "b8", "f16": "f32"}.get(variant, variant)
