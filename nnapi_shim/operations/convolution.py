"""CONV_2D, DEPTHWISE_CONV_2D, GROUPED_CONV_2D, TRANSPOSE_CONV_2D."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperationType, PaddingCode
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import Any, Sequence
from nnapi_shim.operations.declare import BoundOperation, Check, Operation, Rule, Shape, form
from nnapi_shim.operations.rules import (
    bias_scale,
    fused_activation,
    image_not_empty,
    known_rank,
    no_empty_dimension,
    one_dimensional,
    per_channel_dim,
    positive,
    rank_is,
)
from nnapi_shim.operations.shapes import (
    Span,
    Window,
    in_layout,
    nhwc,
    require_scheme,
    span,
    window,
)
from nnapi_shim.operations.signatures import FILTERED, NO_PADDING, PADDING, windowed

DEFAULTS = {**NO_PADDING, "nchw": False, "dilation_width": 1, "dilation_height": 1}


def convolution_window(op: BoundOperation) -> Window:
    """The window geometry of a convolution, computed once; filters are [_, height, width, _]."""
    known: Window | None = vars(op).get("window")
    if known is None:
        _, filter_height, filter_width, _ = op.filter.dimensions
        known = vars(op)["window"] = window(op, filter_height, filter_width)
    return known


def output_image(op: BoundOperation, depth: int) -> list[Dimensions]:
    """[batch, out_height, out_width, depth] in the operation's layout."""
    geometry = convolution_window(op)
    image = (geometry.batch, geometry.vertical.output, geometry.horizontal.output, depth)
    return [in_layout(image, op.nchw)]


def conv_2d_depths(op: BoundOperation) -> None:
    """Filter is [depth_out, height, width, depth_in], bias [depth_out]."""
    _depths(op, 1)


def grouped_depths(op: BoundOperation) -> None:
    """Filter is [depth_out, height, width, depth_in / num_groups], bias [depth_out]."""
    if op.num_groups < 1 or op.filter.dimensions[0] % op.num_groups:
        raise op_failed(
            f"num_groups is {op.num_groups}; it must divide the {op.filter.dimensions[0]} output "
            "channels of filter",
            "grouped-conv-2d.num-groups",
        )
    _depths(op, op.num_groups)


def _depths(op: BoundOperation, groups: int) -> None:
    in_depth = nhwc(op.input.dimensions, op.nchw)[3]
    out_depth, _, _, filter_depth = op.filter.dimensions
    if filter_depth * groups != in_depth:
        of_groups = f"{groups} groups of " if groups > 1 else ""
        raise op_failed(
            f"filter {list(op.filter.dimensions)} is for {of_groups}{filter_depth} input channels; "
            f"input {list(op.input.dimensions)} has {in_depth}",
            "convolution.input-depth",
        )
    if op.bias.dimensions[0] != out_depth:
        raise op_failed(
            f"bias has {op.bias.dimensions[0]} values; filter {list(op.filter.dimensions)} has "
            f"{out_depth} output channels",
            "convolution.bias-size",
        )


def depthwise_depths(op: BoundOperation) -> None:
    """Filter is [1, height, width, depth_in * depth_multiplier], bias [that depth]."""
    in_depth = nhwc(op.input.dimensions, op.nchw)[3]
    first, _, _, out_depth = op.filter.dimensions
    if first != 1:
        raise op_failed(
            f"filter has dimensions {list(op.filter.dimensions)}; the first must be 1",
            "depthwise-conv-2d.filter",
        )
    if op.depth_multiplier < 1 or out_depth != in_depth * op.depth_multiplier:
        raise op_failed(
            f"filter {list(op.filter.dimensions)} has {out_depth} channels; input has {in_depth} "
            f"and depth_multiplier is {op.depth_multiplier}",
            "depthwise-conv-2d.depth-multiplier",
        )
    if op.bias.dimensions[0] != out_depth:
        raise op_failed(
            f"bias has {op.bias.dimensions[0]} values; filter has {out_depth} channels",
            "convolution.bias-size",
        )


def output_shape_of_an_image(op: BoundOperation) -> None:
    """The requested output has rank 4; only its height and width are used."""
    if op.output_shape is not None and len(op.output_shape) != 4:
        raise op_failed(
            f"output_shape has {len(op.output_shape)} values; it must have 4",
            "transpose-conv-2d.output-shape",
        )


def transpose_spans(op: BoundOperation) -> tuple[Span, Span]:
    """Padding and output size of a TRANSPOSE_CONV_2D, vertical and horizontal (semantics.md 5.9).

    SAME pads like a convolution from the requested output to the input; the tail may be negative.
    """
    _, height, width, _ = nhwc(op.input.dimensions, op.nchw)
    _, filter_height, filter_width, _ = op.filter.dimensions
    _, out_height, out_width, _ = nhwc(op.output_shape or (0, 0, 0, 0), op.nchw)
    axes = (
        (height, filter_height, op.stride_height, out_height, op.pad_top, op.pad_bottom),
        (width, filter_width, op.stride_width, out_width, op.pad_left, op.pad_right),
    )
    require_scheme(op)
    vertical, horizontal = (_transpose_span(*axis, op.padding) for axis in axes)
    for name, head, axis_span in (
        ("height", "pad_top", vertical),
        ("width", "pad_left", horizontal),
    ):
        if axis_span.head < 0:
            raise op_failed(
                f"{head} is {axis_span.head}; it must not be negative", "transpose-conv-2d.padding"
            )
        if axis_span.output < 1:
            raise op_failed(
                f"output would have {name} {axis_span.output}; it must be at least 1",
                "transpose-conv-2d.output-size",
            )
    return vertical, horizontal


def _transpose_span(
    size: int,
    extent: int,
    stride: int,
    asked: int,
    head: int | None,
    tail: int | None,
    padding: int | None,
) -> Span:
    if padding is not None:
        head, tail, _ = span(asked, extent, stride, padding, None, None)
        if padding == PaddingCode.SAME:
            tail = (-(-asked // stride) - 1) * stride + extent - asked - head
    assert head is not None
    assert tail is not None
    return Span(head, tail, size * stride + extent - stride - head - tail)


def transposed_image(op: BoundOperation) -> list[Dimensions]:
    """[batch, out_height, out_width, depth_out] in the operation's layout."""
    vertical, horizontal = transpose_spans(op)
    batch = op.input.dimensions[0]
    image = (batch, vertical.output, horizontal.output, op.filter.dimensions[0])
    return [in_layout(image, op.nchw)]


BIAS_FACTORS = ("input", "filter")


def convolution(
    type: OperationType,
    doc: str,
    *,
    sizes: Sequence[Check],
    rules: Sequence[Rule] = (),
    channel_dim: int = 0,
    shape: Shape = lambda op: output_image(op, op.filter.dimensions[0]),
    **parts: Any,
) -> Operation:
    """A convolution. sizes: checks of the sizes of its operands. channel_dim: of the filter."""
    return Operation(
        type,
        doc=doc,
        columns="input filter bias -> output",
        types=FILTERED,
        rules=[*rules, per_channel_dim("filter", channel_dim)],
        checks=[
            known_rank(4, "input", "filter"),
            known_rank(1, "bias"),
            *sizes,
            bias_scale(*BIAS_FACTORS),
            fused_activation,
        ],
        shape=shape,
        products={"bias": BIAS_FACTORS},
        **parts,
    )


NOT_EMPTY = (no_empty_dimension("filter"), image_not_empty)

CONV_2D = convolution(
    OperationType.CONV_2D,
    "output[n,y,x,o] = act(bias[o] + sum(input[n, y*stride_height - pad_top + "
    "i*dilation_height, x*stride_width - pad_left + j*dilation_width, k] * filter[o,i,j,k])); "
    "taps outside the image count as 0.",
    forms=windowed(
        "input filter bias", "stride_width:INT32 stride_height:INT32 activation:INT32", True
    ),
    defaults=DEFAULTS,
    rules=[rank_is(4, "input", "filter")],
    sizes=[*NOT_EMPTY, conv_2d_depths],
    allow_zero_sized=True,
    work="convolution",
)

DEPTHWISE_CONV_2D = convolution(
    OperationType.DEPTHWISE_CONV_2D,
    "output[n,y,x,c*depth_multiplier+m] = act(bias[...] + sum(input[n, y*stride_height - "
    "pad_top + i*dilation_height, x*stride_width - pad_left + j*dilation_width, c] * "
    "filter[0,i,j,c*depth_multiplier+m])); taps outside the image count as 0.",
    forms=windowed(
        "input filter bias",
        "stride_width:INT32 stride_height:INT32 depth_multiplier:INT32 activation:INT32",
        True,
    ),
    defaults=DEFAULTS,
    channel_dim=3,
    sizes=[*NOT_EMPTY, depthwise_depths],
    allow_zero_sized=True,
    shape=lambda op: output_image(op, op.filter.dimensions[3]),
    work="depthwise",
)

GROUPED_CONV_2D = convolution(
    OperationType.GROUPED_CONV_2D,
    "As CONV_2D, with the channels in num_groups groups: each group of the output is computed from "
    "the group of the input with the same number.",
    forms=[
        form(
            f"input filter bias {padding} stride_width:INT32 stride_height:INT32 num_groups:INT32 "
            "activation:INT32 nchw:BOOL",
            since=3,
        )
        for padding in PADDING
    ],
    defaults=DEFAULTS,
    sizes=[grouped_depths],
    legacy=True,
    work="convolution",
)

TRANSPOSE_CONV_2D = convolution(
    OperationType.TRANSPOSE_CONV_2D,
    "output[n,y,x,o] = act(bias[o] + sum(input[n,h,w,k] * filter[o,i,j,k])) over all h, i, w, "
    "j with h*stride_height - pad_top + i = y and w*stride_width - pad_left + j = x.",
    forms=[
        form(
            f"input filter bias {padding} stride_width:INT32 stride_height:INT32 activation:INT32 "
            "nchw:BOOL",
            since=3,
        )
        for padding in (PADDING[0], f"output_shape:TENSOR_INT32 {PADDING[1]}")
    ],
    defaults={**NO_PADDING, "output_shape": None},
    values=("output_shape",),
    sizes=[
        *NOT_EMPTY,
        conv_2d_depths,
        one_dimensional("output_shape"),
        output_shape_of_an_image,
        positive("stride_width", "stride_height"),
    ],
    allow_zero_sized=True,
    shape=transposed_image,
    work="transposed",
)
