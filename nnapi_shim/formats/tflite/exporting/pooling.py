"""Pooling, reductions, normalisation and resizing."""

import numpy as np

from nnapi_shim.formats.graph.builder import ExportBuilder, with_size
from nnapi_shim.formats.graph.expansion import images
from nnapi_shim.formats.graph.rule import Lower, Native, Rule, in_float, known, last_axis, row
from nnapi_shim.formats.graph.tensor import Node
from nnapi_shim.formats.tflite.exporting.convolution import SAME, VALID, padding_of
from nnapi_shim.formats.tflite.exporting.kinds import eight_bits, ints, one_kind
from nnapi_shim.formats.tflite.exporting.types import type_code
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import QUANTIZED_RANGE


def _pool(kind: str) -> Lower:
    """A pooling operator; explicit padding becomes SAME if it matches, else a preceding PAD."""

    def lower(b: ExportBuilder, op: Node) -> None:
        x, padding = op.input, SAME if op.padding == 1 else VALID
        if op.padding is None:
            geometry = images.pool_window(op)
            before = len(b.emitted)
            x, padding = padding_of(b, op, geometry)
            if x is not op.input:
                del b.emitted[before:]
                if kind != "MAX_POOL_2D":
                    images.average_by_sums(b, op)
                    return
                bounds = QUANTIZED_RANGE.get(op.input.type)
                lowest = bounds[0] if bounds else float(np.finfo(np.float32).min)
                x = images.padded(b, op.input, geometry, lowest)
        b.emit(
            kind,
            [x],
            [op.output],
            Padding=padding,
            StrideW=op.stride_width,
            StrideH=op.stride_height,
            FilterWidth=op.filter_width,
            FilterHeight=op.filter_height,
            FusedActivationFunction=op.activation,
        )

    return lower


def _implicit(node: Node) -> bool:
    """Whether types are 8-bit and padding is not explicit; that is decomposed in float32 only."""
    return eight_bits(node) and node.padding is not None


def _reduction(kind: str, native: Native = in_float) -> Rule:
    def lower(b: ExportBuilder, op: Node) -> None:
        inputs, keep = [op.input, ints(op.axes)], bool(op.keep_dims)
        with_size(b, op, lambda out: b.emit(kind, inputs, [out], KeepDims=keep))

    return Rule(kind, lower, native=native, dynamic=("axes",))


def _last_axis(kind: str, lower: Lower) -> Lower:
    """An operator along the last axis, with transpositions around it for another axis."""

    def lower_any(b: ExportBuilder, op: Node) -> None:
        if last_axis(op):
            lower(b, op)
        else:
            images.along_last(b, op, op.axis % op.input.rank, kind)

    return lower_any


def _softmax(b: ExportBuilder, op: Node) -> None:
    b.emit("SOFTMAX", [op.input], [op.output], Beta=op.beta)


def _log_softmax(b: ExportBuilder, op: Node) -> None:
    b.emit("LOG_SOFTMAX", [op.input if op.beta == 1 else b.mul(op.input, op.beta)], [op.output])


def _l2_normalization(b: ExportBuilder, op: Node) -> None:
    b.emit("L2_NORMALIZATION", [op.input], [op.output])


def _local_response(b: ExportBuilder, op: Node) -> None:
    sizes = known(op.input, "input")
    axis = op.axis % len(sizes)
    if axis != len(sizes) - 1:
        images.along_last(b, op, axis, "LOCAL_RESPONSE_NORMALIZATION")
        return
    image = (1,) * (4 - len(sizes)) + sizes
    x = op.input if len(sizes) == 4 else b.reshape(op.input, image)
    result = op.output if len(sizes) == 4 else op.output.like(image)
    b.emit(
        "LOCAL_RESPONSE_NORMALIZATION",
        [x],
        [result],
        Radius=min(op.radius, sizes[-1]),
        Bias=op.bias,
        Alpha=op.alpha,
        Beta=op.beta,
    )
    if result is not op.output:
        b.reshape(result, sizes, op.output)


def _resize(kind: str) -> Rule:
    def lower(b: ExportBuilder, op: Node) -> None:
        _, height, width, _ = known(op.output, "output")
        options = {
            "AlignCorners": bool(op.align_corners),
            "HalfPixelCenters": bool(op.half_pixel_centers),
        }
        b.emit(kind, [op.input, ints((height, width))], [op.output], **options)

    return Rule(kind, lower, native=eight_bits)


def _argument(kind: str) -> Rule:
    def lower(b: ExportBuilder, op: Node) -> None:
        inputs, type = [op.input, ints(op.axis)], type_code(T.TENSOR_INT32)
        with_size(b, op, lambda out: b.emit(kind, inputs, [out], OutputType=type))

    return Rule(kind, lower, native=eight_bits)


RULES = {
    "AVERAGE_POOL_2D": Rule(
        "AVERAGE_POOL_2D; PAD and MUL for other explicit paddings",
        _pool("AVERAGE_POOL_2D"),
        native=_implicit,
    ),
    "MAX_POOL_2D": Rule(
        "MAX_POOL_2D; preceded by PADV2 for other explicit paddings",
        _pool("MAX_POOL_2D"),
        native=eight_bits,
    ),
    "L2_POOL_2D": Rule("MUL, AVERAGE_POOL_2D, SQRT", images.l2_pool),
    "MEAN": _reduction("MEAN", eight_bits),
    "REDUCE_SUM": _reduction("SUM"),
    "REDUCE_PROD": _reduction("REDUCE_PROD"),
    "REDUCE_MAX": _reduction("REDUCE_MAX", eight_bits),
    "REDUCE_MIN": _reduction("REDUCE_MIN", eight_bits),
    "REDUCE_ALL": _reduction("REDUCE_ALL"),
    "REDUCE_ANY": _reduction("REDUCE_ANY"),
    "SOFTMAX": Rule(
        "SOFTMAX; TRANSPOSE if the axis is not the last",
        _last_axis("SOFTMAX", _softmax),
        native=eight_bits,
    ),
    "LOG_SOFTMAX": Rule(
        "LOG_SOFTMAX; MUL if beta is not 1", _last_axis("LOG_SOFTMAX", _log_softmax)
    ),
    "L2_NORMALIZATION": Rule(
        "L2_NORMALIZATION; TRANSPOSE if the axis is not the last",
        _last_axis("L2_NORMALIZATION", _l2_normalization),
        native=eight_bits,
    ),
    "LOCAL_RESPONSE_NORMALIZATION": Rule(
        "LOCAL_RESPONSE_NORMALIZATION; TRANSPOSE if the axis is not the last", _local_response
    ),
    "INSTANCE_NORMALIZATION": Rule("MEAN, SUB, MUL, ADD, RSQRT", images.instance_normalization),
    "RESIZE_BILINEAR": _resize("RESIZE_BILINEAR"),
    "RESIZE_NEAREST_NEIGHBOR": _resize("RESIZE_NEAREST_NEIGHBOR"),
    "ARGMAX": _argument("ARG_MAX"),
    "ARGMIN": _argument("ARG_MIN"),
    "TOPK_V2": row(
        *("TOPK_V2", "input", "k"),
        why="for equal elements TensorFlow Lite returns the first index, NNAPI the last",
        native=one_kind("input", "values"),
    ),
}
