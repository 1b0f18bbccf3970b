"""L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION and INSTANCE_NORMALIZATION as steps.

The input is viewed as [outer, length, inner], of which `length` is normalized. Where inner is 1
that is a row; otherwise up to LANES lanes side by side are worked on together. float16 is widened
before and narrowed after.
"""

from math import prod

from nnapi_shim.drivers.cpu.lowering.elements import TILE
from nnapi_shim.drivers.cpu.lowering.rearrange import image_in, image_out
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
"""Lanes that are worked on together, and neighbours whose windows are."""

VIEW = {
    "input": ADDRESS,
    "output": ADDRESS,
    "outer": INT64,
    "length": INT64,
    "inner": INT64,
    "tile_blocks": INT64,
    "scratch": ADDRESS,
}
"""A tile is `tile_blocks` rows or blocks of lanes, and has a part of `scratch` to itself."""

L2 = record(**VIEW)
L2_BYTES = record(**VIEW, flip=INT64, zero=INT64, zero_point=INT64, late=INT64)
"""flip is xor-ed to the bytes, then zero added; zero_point is added to the results. late: whether
results, not numbers, are multiplied by 128."""
LOCAL = record(**VIEW, radius=INT64, bias=FLOAT32, alpha=FLOAT32, beta=FLOAT32)
INSTANCE = record(**VIEW, fold=INT64, gamma=FLOAT64, beta=FLOAT32, epsilon=FLOAT64)

L2_SCRATCH = 12 * LANES
"""float64 sums and float32 factors of the lanes."""
L2_BYTES_SCRATCH = 16 * LANES
"""Per lane the sum of squares, then the multiplier, and how its product is rounded, as int32."""
LOCAL_SCRATCH = 12 * LANES
"""float64 sums of the lanes, and as float32 those of a part of the output."""
INSTANCE_SCRATCH = 36 * LANES
"""Per lane what is subtracted, the sum and the sum of squares as float64, three float32 factors."""

FEW = 16
"""Largest radius up to which the squares of every window are summed anew."""


def lower_l2_normalization(op: BoundOperation) -> list[Step]:
    """Quantized: in fixed point and steps of 1/128, of unsigned numbers less their zero point."""
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
        # The reference has a formula of its own for signed numbers along the last axis.
        late=op.variant == "qs8" and op.axis % rank == rank - 1,
    )


def lower_local_response_normalization(op: BoundOperation) -> list[Step]:
    """Small windows are summed one by one, neighbours together, wherever the axis lies: along all
    of [length, inner], those that count together are `inner` apart. In large ones a running sum
    along the axis takes in one square and drops another.
    """
    outer, length, inner = _along_axis(op)
    radius = min(op.radius, length - 1)
    if radius > FEW:
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
    """Values for VIEW but for the operands, and the number of tiles."""
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
