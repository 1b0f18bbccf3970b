"""MEAN and the REDUCE operations as steps.

The input is viewed as [outer, repeats, rows, length, inner], where `repeats` and `length` are
reduced: adjacent axes that are both reduced or both kept are merged, so five axes suffice. If inner
is 1, a run of `length` elements is reduced to one ("rows"); otherwise runs of `inner` elements are
combined lane by lane ("lanes"). `fold` short runs are processed as one, and their lanes are
combined at the end.
"""

from math import prod

from nnapi_shim.drivers.cpu.lowering.elements import TILE, WHOLE
from nnapi_shim.drivers.cpu.lowering.gemm_blocking import tiles_of
from nnapi_shim.drivers.cpu.lowering.images import image_in, image_out
from nnapi_shim.drivers.cpu.lowering.tiling import FEW_THREADS, round_up, tile_of, tiling
from nnapi_shim.drivers.cpu.program import threads
from nnapi_shim.drivers.cpu.program.record import (
    ADDRESS,
    FLOAT32,
    FLOAT32_MAX,
    FLOAT64,
    INT64,
    Buffer,
    Record,
    Space,
    Step,
    record,
)
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import Any, Collection, NamedTuple
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.reduction import reduced_axes

LANES = 1024
"""Lanes that are processed at a time."""

ROUNDS = 8
"""Iterations over all lanes, at least, before folded lanes are combined."""

FEW_LANES, FEW_ELEMENTS = 64, 1 << 18
"""Lanes and elements of a float32 sum in registers, at most."""

MOST_SHORT, MANY_ROWS = 1 << 9, 16
"""Bytes of a row, at most, and rows, at least, of maxima of many rows at a time."""

LANE_ROOM = 8
"""Bytes per lane: the partial result."""

SUMMED_LANES, SUMMED_TILE = 512, 1 << 16
"""Lanes and elements of a tile of sums of bytes: kernels process 20 to 60 elements per ns."""

AXES = {
    "input": ADDRESS,
    "output": ADDRESS,
    "outer": INT64,
    "repeats": INT64,
    "rows": INT64,
    "length": INT64,
    "inner": INT64,
    "tile_blocks": INT64,
}
"""A tile is `tile_blocks` outputs if inner is 1, otherwise blocks of lanes."""
VIEW = {**AXES, "block": INT64, "fold": INT64, "lanes": ADDRESS}
"""Blocks have up to `block` of LANES lanes. lanes: scratch memory of LANES * LANE_ROOM bytes per
tile.
"""

SUM = record(Space.RUNS, **VIEW, divisor=FLOAT64)
"""Of floats."""
MEAN_BYTES = record(**AXES, is_signed=INT64, factor=FLOAT64)
"""Sums times the factor, rounded toward zero. Blocks have up to SUMMED_LANES lanes."""
SUM_BYTES = record(
    **AXES, is_signed=INT64, scale=FLOAT32, zero_point=FLOAT32, divisor=FLOAT32, shift=FLOAT64,
    factor=FLOAT32, sure=FLOAT32, target_scale=FLOAT32, low=FLOAT32, high=FLOAT32,
    target_zero_point=INT64,
)  # fmt: skip
"""The sum of (x - zero_point) * scale, divided by `divisor`, quantized: as DEQUANTIZE, REDUCE_SUM
or MEAN, and QUANTIZE compute it, in float32. About (sum - shift) * factor; results are recomputed
if that is more than `sure` away from a whole number. low, high: of results, less their zero point.
"""
PRODUCT = record(Space.RUNS, **VIEW)
EXTREME = record(Space.RUNS, **VIEW, flip=INT64, start=FLOAT32)
"""The maximum of numbers whose bits are XORed with `flip`; at least `start`."""
EXTREME_BYTES = record(Space.RUNS, **VIEW, flip=INT64, is_truth=INT64)
"""The maximum of unsigned bytes XOR `flip`. is_truth: the result is 1 or 0."""

LAYER_NORM = record(
    input=ADDRESS, output=ADDRESS, gain=ADDRESS, bias=ADDRESS,
    rows=INT64, tile_rows=INT64, length=INT64, least=FLOAT32,
)  # fmt: skip
"""(x - mean) / sqrt(variance + least) * gain + bias of each row; a tile is tile_rows rows."""
NORMALISED_PER_NS = 4
"""Elements of LAYER_NORM per nanosecond."""

SIGN = -(2**31)
"""The sign bit of a float32, as an int32."""

LARGEST = {"f32": FLOAT32_MAX, "f16": 65504.0}

UNSIGNED = {"qu8": 0, "qs8": 0x80}
"""XOR mask that converts stored bytes to unsigned bytes in the same order."""


def lower_mean(op: BoundOperation) -> list[Step]:
    """Sum / count; quantized: of stored values."""
    view = _view(op.input.dimensions, reduced_axes(op))
    count = view.repeats * view.length
    if op.variant in LARGEST:
        return _steps(op, SUM, "sum", divisor=float(count))
    # The reciprocal is rounded up, so that products with whole means are not below these: those
    # with other means stay below the next whole number, as sums are smaller than 2^50.
    factor = (1 + 2.0**-51) / count
    return [_byte_sums(MEAN_BYTES, "mean", op.input, op.output, view, factor=factor)]


MOST_SUMMED = 1 << 20
"""Elements of a quantized sum: sums of as many products of 8 bits and a float32 are exact in
float64, in any order."""
SMALLEST, LARGEST_SCALE = 2.0**-90, 2.0**90
"""Scales with which all products are normal numbers, and sums finite."""
MOST_UNSURE = 2.0**-5
"""Quantized sums that are recomputed, at most, as a share of all."""


def quantized_sum(
    source: BoundOperand, target: BoundOperand, axes: Collection[int], is_mean: bool
) -> Step | None:
    """The step of DEQUANTIZE, REDUCE_SUM or MEAN of float32, and QUANTIZE; None if that would be
    slower than these.
    """
    view = _view(source.dimensions, axes)
    count = view.repeats * view.length
    scales = source.scale, target.scale
    if count > MOST_SUMMED or min(scales) < SMALLEST or max(scales) > LARGEST_SCALE:
        return None
    factor = source.scale / target.scale / (count if is_mean else 1)
    # The products of the sum are rounded to 24 bits, and so are, for numbers below 256, the sum,
    # mean and quotient here, and sum, factor and product there.
    error = 2.0**-24 * (255 * count * factor + 6 * 256)
    if 2 * error > MOST_UNSURE:
        return None
    lowest, highest = QUANTIZED_RANGE[target.type]
    return _byte_sums(
        SUM_BYTES,
        "quantized_sum",
        source,
        target,
        view,
        scale=source.scale,
        zero_point=source.zero_point,
        divisor=count if is_mean else 1,
        shift=count * source.zero_point,
        factor=factor,
        sure=0.5 - error,
        target_scale=target.scale,
        low=lowest - target.zero_point,
        high=highest - target.zero_point,
        target_zero_point=target.zero_point,
    )


def _byte_sums(
    layout: Record,
    name: str,
    source: BoundOperand,
    target: BoundOperand,
    view: "View",
    **fields: Any,
) -> Step:
    """The step of sums of bytes."""
    blocks, elements = view.outer * view.rows, view.repeats * view.length
    if view.inner > 1:
        name += "_lanes"
        blocks *= -(-view.inner // SUMMED_LANES)
        elements *= min(view.inner, SUMMED_LANES)
    tile_blocks = max(1, SUMMED_TILE // elements)
    return Step(
        layout,
        f"{name}_b8",
        tiles=-(-blocks // tile_blocks),
        input=source,
        output=target,
        **view._asdict(),
        tile_blocks=tile_blocks,
        is_signed=source.type is OperandType.TENSOR_QUANT8_ASYMM_SIGNED,
        **fields,
    )


def layer_norm(source: Any, target: BoundOperand, gain: Any, bias: Any, least: float) -> Step:
    """The step of a float32 layer normalisation over the last dimension."""
    *outer, length = target.dimensions
    rows = prod(outer)
    tile_rows = -(-rows // tiles_of(rows * length // NORMALISED_PER_NS))
    return Step(
        LAYER_NORM,
        "layer_norm_f32",
        tiles=-(-rows // tile_rows),
        in_place="input",
        input=source,
        output=target,
        gain=gain,
        bias=bias,
        rows=rows,
        tile_rows=tile_rows,
        length=length,
        least=least,
    )


def lower_reduce_sum(op: BoundOperation) -> list[Step]:
    """The sum with divisor 1."""
    return _steps(op, SUM, "sum", divisor=1.0)


def lower_reduce_prod(op: BoundOperation) -> list[Step]:
    """The product."""
    return _steps(op, PRODUCT, "product")


def lower_reduce_max(op: BoundOperation) -> list[Step]:
    """The maximum; signed bytes are converted to unsigned."""
    if op.variant in LARGEST:
        return _steps(op, EXTREME, "extreme", flip=0, start=-LARGEST[op.variant])
    return _extreme_byte(op, flip=UNSIGNED[op.variant])


def lower_reduce_min(op: BoundOperation) -> list[Step]:
    """The maximum in reversed order."""
    if op.variant in LARGEST:
        return _steps(op, EXTREME, "extreme", flip=SIGN, start=-LARGEST[op.variant])
    return _extreme_byte(op, flip=0xFF ^ UNSIGNED[op.variant])


def lower_reduce_all(op: BoundOperation) -> list[Step]:
    """Whether the minimum is not 0."""
    return _extreme_byte(op, flip=0xFF, is_truth=True)


def lower_reduce_any(op: BoundOperation) -> list[Step]:
    """Whether the maximum is not 0."""
    return _extreme_byte(op, flip=0, is_truth=True)


def _extreme_byte(op: BoundOperation, flip: int, is_truth: bool = False) -> list[Step]:
    return _steps(op, EXTREME_BYTES, "extreme", flip=flip, is_truth=is_truth)


class View(NamedTuple):
    """The five-dimensional view of the input."""

    outer: int
    repeats: int
    rows: int
    length: int
    inner: int


def _view(dimensions: Dimensions, axes: Collection[int]) -> View:
    """Merge adjacent axes to alternating kept and reduced sizes, innermost first."""
    sizes = [1]
    for axis in reversed(range(len(dimensions))):
        if dimensions[axis] == 1:
            continue
        if (axis in axes) == (len(sizes) % 2 == 1):
            sizes.append(1)
        sizes[-1] *= dimensions[axis]
    return View(*reversed(sizes + [1] * (5 - len(sizes))))


def _lanes(blocks: int, elements: int, inner: int) -> int:
    """Lanes of a block: fewer where many threads would have none otherwise."""
    number = threads.count()
    if number <= FEW_THREADS:
        return LANES
    wanted = tile_of(TILE, blocks * elements * inner) // elements
    return min(LANES, round_up(max(wanted, -(-blocks * inner // number)), WHOLE))


def _has_few_vectors(view: View) -> bool:
    """Whether sums of float32 are registers of one kernel, which does not look at the clock."""
    return (
        view.repeats == 1
        and 1 < view.inner <= FEW_LANES
        and view.inner % tiling().lanes == 0
        and view.length * view.inner <= FEW_ELEMENTS
    )


def _has_short_rows(view: View) -> bool:
    """Whether maxima of bytes are computed for many rows together."""
    is_row = view.repeats == view.inner == 1
    return is_row and view.length <= MOST_SHORT and view.outer * view.rows >= MANY_ROWS


def _steps(op: BoundOperation, layout: Record, name: str, **fields: Any) -> list[Step]:
    """float16 is widened before and narrowed after."""
    before, source = image_in(op.input, False)
    target, after = image_out(op.output, False)
    element = "f32" if op.variant in LARGEST else "b8"
    view = _view(op.input.dimensions, reduced_axes(op))
    block, fold, lanes = LANES, 1, None
    blocks, elements = view.outer * view.rows, view.repeats * view.length
    is_in_registers = layout is SUM and _has_few_vectors(view)
    if is_in_registers:
        name = "sum_vectors"
        elements *= view.inner
    elif layout is EXTREME_BYTES and _has_short_rows(view):
        name += "_rows"
    elif view.inner > 1:
        name += "_lanes"
        while 2 * fold * view.inner <= LANES and ROUNDS * 2 * fold <= view.length:
            fold *= 2
        if fold == 1:
            block = _lanes(blocks, elements, view.inner)
        blocks *= -(-view.inner // block)
        elements *= min(view.inner, block)
    tile_blocks = max(1, tile_of(TILE, blocks * elements) // elements)
    tiles = -(-blocks // tile_blocks)
    if view.inner > 1 and not is_in_registers:
        lanes = Buffer(LANES * LANE_ROOM * tiles)
    step = Step(
        layout,
        f"reduce_{name}_{element}",
        tiles=tiles,
        input=source,
        output=target,
        **view._asdict(),
        block=block,
        fold=fold,
        tile_blocks=tile_blocks,
        lanes=lanes,
        **fields,
    )
    return [*before, step, *after]
