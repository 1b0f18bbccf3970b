"""CONV_2D and DEPTHWISE_CONV_2D: a filter that slides over an image."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations.declare import BoundOperation, Operation
from nnapi_shim.operations.rules import (
    bias_scale,
    fused_activation,
    image_not_empty,
    known_rank,
    no_empty_dimension,
    per_channel_dim,
    rank_is,
)
from nnapi_shim.operations.shapes import Window, in_layout, nhwc, window
from nnapi_shim.operations.signatures import FILTERED, NO_PADDING, windowed

DEFAULTS = {**NO_PADDING, "nchw": False, "dilation_width": 1, "dilation_height": 1}


def convolution_window(op: BoundOperation) -> Window:
    """The window of a bound CONV_2D or DEPTHWISE_CONV_2D; both have [_, height, width, _]."""
    _, filter_height, filter_width, _ = op.filter.dimensions
    return window(op, filter_height, filter_width)


def output_image(op: BoundOperation, depth: int) -> list[Dimensions]:
    """[batch, out_height, out_width, depth] in the operation's layout."""
    seen = convolution_window(op)
    image = (seen.batch, seen.vertical.output, seen.horizontal.output, depth)
    return [in_layout(image, op.nchw)]


def conv_2d_depths(op: BoundOperation) -> None:
    """Filter is [depth_out, height, width, depth_in], bias [depth_out]."""
    in_depth = nhwc(op.input.dimensions, op.nchw)[3]
    out_depth, _, _, filter_depth = op.filter.dimensions
    if filter_depth != in_depth:
        raise op_failed(
            f"filter {list(op.filter.dimensions)} is for {filter_depth} input channels; input "
            f"{list(op.input.dimensions)} has {in_depth}"
        )
    if op.bias.dimensions[0] != out_depth:
        raise op_failed(
            f"bias has {op.bias.dimensions[0]} values; filter {list(op.filter.dimensions)} has "
            f"{out_depth} output channels"
        )


def depthwise_depths(op: BoundOperation) -> None:
    """Filter is [1, height, width, depth_in * depth_multiplier], bias [that depth]."""
    in_depth = nhwc(op.input.dimensions, op.nchw)[3]
    first, _, _, out_depth = op.filter.dimensions
    if first != 1:
        raise op_failed(f"filter has dimensions {list(op.filter.dimensions)}; the first must be 1")
    if op.depth_multiplier < 1 or out_depth != in_depth * op.depth_multiplier:
        raise op_failed(
            f"filter {list(op.filter.dimensions)} has {out_depth} channels; input has {in_depth} "
            f"and depth_multiplier is {op.depth_multiplier}"
        )
    if op.bias.dimensions[0] != out_depth:
        raise op_failed(f"bias has {op.bias.dimensions[0]} values; filter has {out_depth} channels")


CONV_2D = Operation(
    OperationType.CONV_2D,
    doc="output[n,y,x,o] = act(bias[o] + sum(input[n, y*stride_height - pad_top + "
    "i*dilation_height, x*stride_width - pad_left + j*dilation_width, k] * filter[o,i,j,k])); "
    "taps outside the image count as 0.",
    columns="input filter bias -> output",
    types=FILTERED,
    forms=windowed(
        "input filter bias", "stride_width:INT32 stride_height:INT32 activation:INT32", True
    ),
    defaults=DEFAULTS,
    rules=[rank_is(4, "input", "filter"), per_channel_dim("filter", 0)],
    checks=[
        known_rank(4, "input", "filter"),
        known_rank(1, "bias"),
        no_empty_dimension("filter"),
        image_not_empty,
        conv_2d_depths,
        bias_scale("input", "filter"),
        fused_activation,
    ],
    allow_zero_sized=True,
    shape=lambda op: output_image(op, op.filter.dimensions[0]),
)

DEPTHWISE_CONV_2D = Operation(
    OperationType.DEPTHWISE_CONV_2D,
    doc="output[n,y,x,c*depth_multiplier+m] = act(bias[...] + sum(input[n, y*stride_height - "
    "pad_top + i*dilation_height, x*stride_width - pad_left + j*dilation_width, c] * "
    "filter[0,i,j,c*depth_multiplier+m])); taps outside the image count as 0.",
    columns="input filter bias -> output",
    types=FILTERED,
    forms=windowed(
        "input filter bias",
        "stride_width:INT32 stride_height:INT32 depth_multiplier:INT32 activation:INT32",
        True,
    ),
    defaults=DEFAULTS,
    rules=[per_channel_dim("filter", 3)],
    checks=[
        known_rank(4, "input", "filter"),
        known_rank(1, "bias"),
        no_empty_dimension("filter"),
        image_not_empty,
        depthwise_depths,
        bias_scale("input", "filter"),
        fused_activation,
    ],
    allow_zero_sized=True,
    shape=lambda op: output_image(op, op.filter.dimensions[3]),
)
