"""ROI_ALIGN and ROI_POOLING as steps: one kernel call per tile of rois, on images in NHWC order."""

from math import ceil

from nnapi_shim.drivers.cpu.lowering.dequantize import reals
from nnapi_shim.drivers.cpu.lowering.images import from_nhwc, to_nhwc
from nnapi_shim.drivers.cpu.program.record import (
    ADDRESS,
    FLOAT32,
    INT64,
    Buffer,
    Record,
    Step,
    record,
)
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.rules import float32
from nnapi_shim.operations.shapes import nhwc

ROIS = {
    **dict.fromkeys(("input", "rois", "batch_index", "output"), ADDRESS),
    **dict.fromkeys(("batches", "height", "width", "depth", "out_height", "out_width"), INT64),
    **dict.fromkeys(("count", "tile_rois"), INT64),
    **dict.fromkeys(("height_stride", "width_stride"), FLOAT32),
}
"""count: number of rois; a tile is tile_rois of them."""

ROI_ALIGN = record(
    **ROIS, sums=ADDRESS, ratio_height=INT64, ratio_width=INT64,
    scale=FLOAT32, zero_in=INT64, zero_out=INT64, low=INT64, high=INT64,
)  # fmt: skip
"""scale: weight step * input.scale / output.scale."""
ROI_POOL = record(**ROIS, low=FLOAT32, high=FLOAT32, zero=FLOAT32)
ROI_POOL_RAW = record(**ROIS, low=INT64, high=INT64, zero=INT64)

TILES = 64
"""Tiles, at most: each has its own sums."""

WEIGHT_STEP = float32(1 / 255)
"""The step of the weights of quantized samples."""

MAX_EXACT_SAMPLES = 256
"""Samples of a bin, at most, whose sum is exact in float32: each is at most 257 * 255."""

ROUNDING = 2.0**-21
"""Upper bound of the combined error of a float32 reciprocal, product, difference and quotient."""

INFINITY = float("inf")


def lower_roi_align(op: BoundOperation) -> list[Step]:
    """Accumulates one sum per channel in memory; quantized sums are requantized at the end."""
    fields: dict[str, Any] = {"scale": 1, "zero_in": 0, "zero_out": 0, "low": 0, "high": 0}
    if op.variant in ("qu8", "qs8"):
        low, high = QUANTIZED_RANGE[op.output.type]
        fields = {
            "scale": float32(float32(op.input.scale * WEIGHT_STEP) / op.output.scale),
            "zero_in": op.input.zero_point,
            "zero_out": op.output.zero_point,
            "low": low,
            "high": high,
        }
    depth = nhwc(op.input.dimensions, op.nchw)[3]
    fields["ratio_height"], fields["ratio_width"] = (
        op.height_sampling_ratio,
        op.width_sampling_ratio,
    )
    is_many = op.variant in ("qu8", "qs8") and _samples(op) > MAX_EXACT_SAMPLES
    name = "roi_align_many" if is_many else "roi_align"
    return _rois(op, ROI_ALIGN, name, sums=Buffer(4 * TILES * depth), **fields)


def _samples(op: BoundOperation) -> int:
    """Samples of a bin, at most: a bin is not larger than the feature map, apart from rounding of
    the reciprocal strides.
    """
    _, height, width, _ = nhwc(op.input.dimensions, op.nchw)
    rows = op.height_sampling_ratio or ceil(height * (1 + ROUNDING) / op.out_height)
    columns = op.width_sampling_ratio or ceil(width * (1 + ROUNDING) / op.out_width)
    return int(rows * columns)


def lower_roi_pooling(op: BoundOperation) -> list[Step]:
    """Quantized: compares stored values."""
    if op.variant in ("f32", "f16"):
        return _rois(op, ROI_POOL, "roi_pool", low=-INFINITY, high=INFINITY, zero=0)
    low, high = QUANTIZED_RANGE[op.input.type]
    return _rois(op, ROI_POOL_RAW, "roi_pool", low=low, high=high, zero=op.input.zero_point)


def _rois(op: BoundOperation, layout: Record, name: str, **fields: Any) -> list[Step]:
    before, source = to_nhwc(op.input, op.nchw)
    first, rois = reals(op.rois)
    target, after = from_nhwc(op.output, op.nchw)
    batches, height, width, depth = nhwc(op.input.dimensions, op.nchw)
    count = op.rois.dimensions[0]
    tile_rois = -(-count // TILES)
    step = Step(
        layout,
        f"{name}_{op.variant}",
        tiles=-(-count // tile_rois),
        writes=("output", "sums") if "sums" in layout.fields else ("output",),
        complaint="a roi has x1 > x2 or y1 > y2, leaves the feature map, or is of no image; or the "
        "output scale is too small",
        input=source,
        rois=rois,
        batch_index=op.batch_index,
        output=target,
        batches=batches,
        height=height,
        width=width,
        depth=depth,
        out_height=op.out_height,
        out_width=op.out_width,
        count=count,
        tile_rois=tile_rois,
        height_stride=op.height_stride,
        width_stride=op.width_stride,
        **fields,
    )
    return [*before, *first, step, *after]
