"""L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION and INSTANCE_NORMALIZATION as steps.

The input is viewed as [outer, length, inner], and `length` is normalized. If inner is 1, that is a
row; otherwise up to LANES adjacent lanes are processed together. float16 is widened before and
narrowed after.
"""

from math import prod

from nnapi_shim.drivers.cpu.lowering.elements import TILE
from nnapi_shim.drivers.cpu.lowering.images import image_in, image_out
from nnapi_shim.drivers.cpu.program.record import (
    ADDRESS,
    FLOAT32,
    FLOAT64,
    INT64,
    Buffer,
    Record,
    Step,
    record,
)
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperation

LANES = 1024
"""Lanes, or adjacent windows, that are processed together."""

VIEW = {
    "input": ADDRESS,
    "output": ADDRESS,
    "outer": INT64,
    "length": INT64,
    "inner": INT64,
    "tile_blocks": INT64,
    "scratch": ADDRESS,
}
"""A tile is `tile_blocks` rows or blocks of lanes, and owns a part of `scratch`."""

L2 = record(**VIEW)
L2_BYTES = record(**VIEW, flip=INT64, zero=INT64, zero_point=INT64, late=INT64)
"""flip: XOR mask of the bytes; then zero is added. zero_point is added to the results. late:
whether results instead of inputs are multiplied by 128."""
LOCAL = record(**VIEW, radius=INT64, bias=FLOAT32, alpha=FLOAT32, beta=FLOAT32)
INSTANCE = record(**VIEW, fold=INT64, gamma=FLOAT64, beta=FLOAT32, epsilon=FLOAT64)

L2_SCRATCH = 12 * LANES
"""float64 sums and float32 factors of the lanes."""
L2_BYTES_SCRATCH = 16 * LANES
"""int32 per lane: the sum of squares, then the multiplier and the rounding of its product."""
LOCAL_SCRATCH = 12 * LANES
"""float64 sums of the lanes, and float32 sums of a part of the output."""
INSTANCE_SCRATCH = 36 * LANES
"""Per lane: shift, sum and sum of squares as float64, and three float32 factors."""

MAX_DIRECT_RADIUS = 16
"""The largest radius for which every window is summed separately."""


def lower_l2_normalization(op: BoundOperation) -> list[Step]:
    """Quantized: in fixed point with steps of 1/128."""
    outer, length, inner = _along_axis(op)
    kernel = "l2_normalization" if inner == 1 else "l2_normalization_lanes"
    if op.variant in ("f32", "f16"):
        return _steps(op, L2, kernel, **_blocks(outer, length, inner, L2_SCRATCH))
    lowest, _ = QUANTIZED_RANGE[op.input.type]
    rank = len(op.input.dimensions)
    return _steps(
        op,
        L2_BYTES,
        kernel,
        **_blocks(outer, length, inner, L2_BYTES_SCRATCH),
        flip=lowest & 0xFF,
        zero=lowest - op.input.zero_point,
        zero_point=op.output.zero_point,
        # The reference uses another formula for signed bytes along the last axis.
        late=op.variant == "qs8" and op.axis % rank == rank - 1,
    )


def lower_local_response_normalization(op: BoundOperation) -> list[Step]:
    """Small windows are summed separately, adjacent windows together: in [length, inner], the
    elements of a window are `inner` apart. Large windows use a running sum along the axis.
    """
    outer, length, inner = _along_axis(op)
    radius = min(op.radius, length - 1)
    if radius > MAX_DIRECT_RADIUS:
        kernel = "local_response_running"
        fields = _blocks(outer, length, inner, LOCAL_SCRATCH)
    else:
        kernel = "local_response"
        fields = _blocks(outer, 1, length * inner, LOCAL_SCRATCH)
        fields |= {"length": length, "inner": inner}
    fields |= {"radius": radius, "bias": op.bias, "alpha": op.alpha, "beta": op.beta}
    return _steps(op, LOCAL, kernel, **fields)


def lower_instance_normalization(op: BoundOperation) -> list[Step]:
    """The pixels of an image are along `length`, channels in `outer` or `inner`."""
    if op.nchw:
        batch, depth, height, width = op.input.dimensions
        view = (batch * depth, height * width, 1)
    else:
        batch, height, width, depth = op.input.dimensions
        view = (batch, height * width, depth)
    outer, length, inner = view
    fold = 1
    while inner > 1 and 2 * fold * inner <= LANES and 2 * fold <= length:
        fold *= 2
    kernel = "instance_normalization" if inner == 1 else "instance_normalization_lanes"
    fields = _blocks(outer, length, inner, INSTANCE_SCRATCH)
    fields |= {"fold": fold, "gamma": op.gamma, "beta": op.beta, "epsilon": op.epsilon}
    return _steps(op, INSTANCE, kernel, **fields)


def _along_axis(op: BoundOperation) -> tuple[int, int, int]:
    dimensions = op.input.dimensions
    axis = op.axis % len(dimensions)
    return prod(dimensions[:axis]), dimensions[axis], prod(dimensions[axis + 1 :])


def _steps(op: BoundOperation, layout: Record, kernel: str, **fields: Any) -> list[Step]:
    before, source = image_in(op.input, False)
    target, after = image_out(op.output, False)
    element = "f32" if op.variant in ("f32", "f16") else "b8"
    step = Step(layout, f"{kernel}_{element}", input=source, output=target, **fields)
    return [*before, step, *after]


def _blocks(outer: int, length: int, inner: int, scratch_bytes: int) -> dict[str, Any]:
    """The number of tiles, and values for VIEW except the operands."""
    blocks = outer * -(-inner // LANES)
    tile_blocks = max(1, TILE // (length * min(inner, LANES)))
    tiles = -(-blocks // tile_blocks)
    return {
        "tiles": tiles,
        "outer": outer,
        "length": length,
        "inner": inner,
        "tile_blocks": tile_blocks,
        "scratch": Buffer(scratch_bytes * tiles),
    }
