"""What IREE gets wrong or does not compile, and what no conformance vector has been computed of.

Compiling takes seconds, so an operation is taken only when its vectors have been computed.
"""

from collections.abc import Callable
from typing import Any

from nnapi_shim.drivers.engines.declined import HALVES, QUANTIZED, Declined, always, has_type
from nnapi_shim.drivers.engines.iree_targets import GPUS
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.operations.convolution import transpose_spans

_SEEN = "3.13.0"
_GPUS = tuple(f"iree-{driver}" for driver in GPUS)
_is_quantized = has_type(*QUANTIZED)
_REDUCTIONS = (
    "MEAN",
    "REDUCE_ALL",
    "REDUCE_ANY",
    "REDUCE_MAX",
    "REDUCE_MIN",
    "REDUCE_PROD",
    "REDUCE_SUM",
)


def _is_cropped_unevenly(node: Any) -> bool:
    return any(span.head != max(span.tail, 0) for span in transpose_spans(node))


def _leaves_rows_over(node: Any) -> bool:
    """Whether a filter that moves in steps has room for one of them."""
    sizes = node.outputs[0].dimensions[2:] if node.nchw else node.outputs[0].dimensions[1:3]
    strides = (node.stride_height, node.stride_width)
    return any(size == 1 and stride > 1 for size, stride in zip(sizes, strides, strict=False))


def _has_negative(name: str) -> Callable[[Any], bool]:
    """A predicate: one of the values of that input is below 0."""

    def applies(node: Any) -> bool:
        values = node.named.get(name)
        return isinstance(values, tuple) and min(values, default=0) < 0

    return applies


def _is_along_inner_axis(node: Any) -> bool:
    rank = len(node.input.dimensions)
    return node.axis not in (-1, rank - 1)


def _leaves_channels_over(node: Any) -> bool:
    return bool(node.depth_multiplier == 1 and node.filter.dimensions[3] % 64)


ON_VULKAN = (
    "ABS",
    "ADD",
    "ARGMAX",
    "ARGMIN",
    "AVERAGE_POOL_2D",
    "BATCH_MATMUL",
    "BATCH_TO_SPACE_ND",
    "CAST",
    "CHANNEL_SHUFFLE",
    "CONCATENATION",
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "DEPTH_TO_SPACE",
    "DIV",
    "ELU",
    "EXP",
    "EXPAND_DIMS",
    "FLOOR",
    "FULLY_CONNECTED",
    "GATHER",
    "HARD_SWISH",
    "L2_NORMALIZATION",
    "L2_POOL_2D",
    "LOCAL_RESPONSE_NORMALIZATION",
    "LOG",
    "LOGISTIC",
    "LOG_SOFTMAX",
    "MAXIMUM",
    "MAX_POOL_2D",
    "MEAN",
    "MINIMUM",
    "MUL",
    "NEG",
    "PAD",
    "PAD_V2",
    "POW",
    "PRELU",
    "REDUCE_MAX",
    "REDUCE_MIN",
    "REDUCE_PROD",
    "REDUCE_SUM",
    "RELU",
    "RELU1",
    "RELU6",
    "RESHAPE",
    "RESIZE_BILINEAR",
    "RESIZE_NEAREST_NEIGHBOR",
    "REVERSE",
    "RSQRT",
    "SIN",
    "SLICE",
    "SOFTMAX",
    "SPACE_TO_BATCH_ND",
    "SPACE_TO_DEPTH",
    "SPLIT",
    "SQRT",
    "SQUEEZE",
    "STRIDED_SLICE",
    "SUB",
    "TANH",
    "TILE",
    "TRANSPOSE",
    "TRANSPOSE_CONV_2D",
)
"""Operations that have been computed right by Vulkan (lavapipe of Mesa 22.3.6): all their vectors
without float16 and quantized tensors, and with sizes that models have (tests/engines/sweep.py); of
TRANSPOSE these alone, as vectors have its order in an input. CUDA and HIP were not tried: they get
the same.
"""

_WRITE_BYTES = (
    "EQUAL",
    "GREATER",
    "GREATER_EQUAL",
    "LESS",
    "LESS_EQUAL",
    "LOGICAL_AND",
    "LOGICAL_NOT",
    "LOGICAL_OR",
    "NOT_EQUAL",
    "REDUCE_ALL",
    "REDUCE_ANY",
    "SELECT",
)

DECLINED: tuple[Declined, ...] = (
    Declined(
        ("WHILE",),
        always,
        "",
        "the compiler has no loops",
        _SEEN,
    ),
    Declined(
        ("RANDOM_MULTINOMIAL", "ROI_ALIGN", "ROI_POOLING"),
        always,
        "",
        "the compiler does not know the operator",
        _SEEN,
    ),
    Declined(
        ("DETECTION_POSTPROCESSING",),
        lambda node: bool(node.use_regular_nms),
        "with use_regular_nms",
        "the model does not compile",
        _SEEN,
    ),
    Declined(
        ("AXIS_ALIGNED_BBOX_TRANSFORM", "QUANTIZED_LSTM"),
        _is_quantized,
        "with quantized tensors",
        "the compiler does not cast to 16-bit integers",
        _SEEN,
    ),
    Declined(
        ("TRANSPOSE_CONV_2D",),
        _is_cropped_unevenly,
        "with a padding that differs on opposite sides",
        "the model does not compile",
        _SEEN,
    ),
    Declined(
        ("CONV_2D", "DEPTHWISE_CONV_2D", "GROUPED_CONV_2D"),
        _leaves_rows_over,
        "with a stride and an output of one row or column",
        "the model does not compile if rows or columns are left over",
        _SEEN,
        in_vectors=False,
    ),
    Declined(
        ("SPACE_TO_BATCH_ND",),
        _has_negative("paddings"),
        "with negative paddings",
        "the model does not compile",
        _SEEN,
        in_vectors=False,
    ),
    Declined(
        ("STRIDED_SLICE",),
        _has_negative("strides"),
        "with negative strides",
        "the result is wrong, or the model does not compile",
        _SEEN,
        in_vectors=False,
    ),
    Declined(
        ("RESIZE_NEAREST_NEIGHBOR",),
        lambda node: bool(node.align_corners),
        "with align_corners",
        "the compiler does not know how it rounds",
        _SEEN,
    ),
    Declined(
        _REDUCTIONS,
        lambda node: not isinstance(node.named.get("axes"), tuple),
        "with axes that are no constant",
        "the model does not compile",
        _SEEN,
    ),
    Declined(
        ("PAD",),
        lambda node: _is_quantized(node) and not isinstance(node.named.get("paddings"), tuple),
        "with quantized tensors and paddings that are no constant",
        "the model does not compile",
        _SEEN,
    ),
    Declined(
        _WRITE_BYTES,
        always,
        "",
        "of the bytes of a word, some get lost or are mixed up",
        _SEEN,
        _GPUS,
    ),
    Declined(
        ("GROUPED_CONV_2D",),
        always,
        "",
        "the sums are wrong",
        _SEEN,
        _GPUS,
    ),
    Declined(
        ("INSTANCE_NORMALIZATION",),
        always,
        "",
        "results differ from run to run",
        _SEEN,
        _GPUS,
        in_vectors=False,
    ),
    Declined(
        ("DETECTION_POSTPROCESSING", "MIRROR_PAD"),
        always,
        "",
        "the model does not compile",
        _SEEN,
        _GPUS,
    ),
    Declined(
        tuple(each.name for each in OperationType if each.name not in ON_VULKAN),
        always,
        "",
        "not tried with this engine",
        _SEEN,
        _GPUS,
    ),
    Declined(
        ("DEPTHWISE_CONV_2D",),
        _leaves_channels_over,
        "with depth_multiplier 1 and a number of channels that 64 does not divide",
        "the sums are wrong",
        _SEEN,
        _GPUS,
        in_vectors=False,
    ),
    Declined(
        ("LOG_SOFTMAX", "SOFTMAX"),
        _is_along_inner_axis,
        "with an axis before the last",
        "results differ from run to run",
        _SEEN,
        _GPUS,
        in_vectors=False,
    ),
    Declined(
        ("L2_NORMALIZATION",),
        _is_along_inner_axis,
        "with an axis before the last",
        "some models do not compile",
        _SEEN,
        _GPUS,
        in_vectors=False,
    ),
    Declined(
        ON_VULKAN,
        has_type(*HALVES, *QUANTIZED, "TENSOR_BOOL8"),
        "with tensors of float16, bool8 and quantized ones",
        "not tried with this engine",
        _SEEN,
        _GPUS,
    ),
)
