"""Pooling, reductions, normalisation and resizing."""

import numpy as np

from nnapi_shim.formats.graph.builder import ExportBuilder, Rule, known, last_axis, with_size
from nnapi_shim.formats.graph.expansion import images
from nnapi_shim.formats.graph.tensor import Node
from nnapi_shim.formats.tflite.exporting.convolution import SAME, VALID, padding_of
from nnapi_shim.formats.tflite.exporting.kinds import eight_bits, ints, one_kind
from nnapi_shim.formats.tflite.exporting.types import type_code
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import QUANTIZED_RANGE


def _pool(b: ExportBuilder, op: Node, kind: str) -> None:
    """A pooling operator; explicit padding becomes SAME if it matches, else a preceding PAD."""
    x, padding = op.input, SAME if op.padding == 1 else VALID
    if op.padding is None:
        geometry = images.pool_window(op)
        before = len(b.emitted)
        x, padding = padding_of(b, op, geometry)
        if x is not op.input:
            del b.emitted[before:]
            if kind == "MAX_POOL_2D":
                bounds = QUANTIZED_RANGE.get(op.input.type)
                lowest = bounds[0] if bounds else float(np.finfo(np.float32).min)
                x = images.padded(b, op.input, geometry, lowest)
            else:
                images.average_by_sums(b, op)
                return
    b.emit(
        kind,
        [x],
        [op.output],
        table="Pool2DOptions",
        Padding=padding,
        StrideW=op.stride_width,
        StrideH=op.stride_height,
        FilterWidth=op.filter_width,
        FilterHeight=op.filter_height,
        FusedActivationFunction=op.activation,
    )


def _average(b: ExportBuilder, op: Node) -> None:
    _pool(b, op, "AVERAGE_POOL_2D")


def _max(b: ExportBuilder, op: Node) -> None:
    _pool(b, op, "MAX_POOL_2D")


def _implicit(node: Node) -> bool:
    """Whether types are 8-bit and padding is not explicit; that is decomposed in float32 only."""
    return eight_bits(node) and node.padding is not None


def _reduction(kind: str, native: object = None) -> Rule:
    def lower(b: ExportBuilder, op: Node) -> None:
        inputs = [op.input, ints(op.axes)]
        keep = bool(op.keep_dims)
        with_size(
            b, op, lambda out: b.emit(kind, inputs, [out], table="ReducerOptions", KeepDims=keep)
        )

    return Rule(kind, lower, native=native or (lambda node: False), dynamic=("axes",))  # type: ignore[arg-type]


def _softmax(b: ExportBuilder, op: Node) -> None:
    if not last_axis(op):
        images.along_last(b, op, op.axis % op.input.rank, "SOFTMAX")
        return
    b.emit("SOFTMAX", [op.input], [op.output], table="SoftmaxOptions", Beta=op.beta)


def _log_softmax(b: ExportBuilder, op: Node) -> None:
    if not last_axis(op):
        images.along_last(b, op, op.axis % op.input.rank, "LOG_SOFTMAX")
        return
    x = op.input if op.beta == 1 else b.mul(op.input, op.beta)
    b.emit("LOG_SOFTMAX", [x], [op.output], table="LogSoftmaxOptions")


def _l2_normalization(b: ExportBuilder, op: Node) -> None:
    if not last_axis(op):
        images.along_last(b, op, op.axis % op.input.rank, "L2_NORMALIZATION")
        return
    b.emit("L2_NORMALIZATION", [op.input], [op.output], table="L2NormOptions")


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
        table="LocalResponseNormalizationOptions",
        Radius=min(op.radius, sizes[-1]),
        Bias=op.bias,
        Alpha=op.alpha,
        Beta=op.beta,
    )
    if result is not op.output:
        b.reshape(result, sizes, op.output)


def _resize(kind: str, table: str) -> Rule:
    def lower(b: ExportBuilder, op: Node) -> None:
        _, height, width, _ = known(op.output, "output")
        b.emit(
            kind,
            [op.input, ints((height, width))],
            [op.output],
            table=table,
            AlignCorners=bool(op.align_corners),
            HalfPixelCenters=bool(op.half_pixel_centers),
        )

    return Rule(kind, lower, native=eight_bits)


def _argument(kind: str, table: str, field: str) -> Rule:
    def lower(b: ExportBuilder, op: Node) -> None:
        inputs = [op.input, ints(op.axis)]
        options = {"table": table, field: type_code(T.TENSOR_INT32)}
        with_size(b, op, lambda out: b.emit(kind, inputs, [out], **options))

    return Rule(kind, lower, native=eight_bits)


def _topk(b: ExportBuilder, op: Node) -> None:
    b.emit("TOPK_V2", [op.input, ints(op.k)], [op.values, op.indices], table="TopKV2Options")


RULES = {
    "AVERAGE_POOL_2D": Rule(
        "AVERAGE_POOL_2D; PAD and MUL for other explicit paddings", _average, native=_implicit
    ),
    "MAX_POOL_2D": Rule(
        "MAX_POOL_2D; preceded by PADV2 for other explicit paddings", _max, native=eight_bits
    ),
    "L2_POOL_2D": Rule("MUL, AVERAGE_POOL_2D, SQRT", images.l2_pool),
    "MEAN": _reduction("MEAN", eight_bits),
    "REDUCE_SUM": _reduction("SUM"),
    "REDUCE_PROD": _reduction("REDUCE_PROD"),
    "REDUCE_MAX": _reduction("REDUCE_MAX", eight_bits),
    "REDUCE_MIN": _reduction("REDUCE_MIN", eight_bits),
    "REDUCE_ALL": _reduction("REDUCE_ALL"),
    "REDUCE_ANY": _reduction("REDUCE_ANY"),
    "SOFTMAX": Rule("SOFTMAX; TRANSPOSE if the axis is not the last", _softmax, native=eight_bits),
    "LOG_SOFTMAX": Rule("LOG_SOFTMAX; MUL if beta is not 1", _log_softmax),
    "L2_NORMALIZATION": Rule(
        "L2_NORMALIZATION; TRANSPOSE if the axis is not the last",
        _l2_normalization,
        native=eight_bits,
    ),
    "LOCAL_RESPONSE_NORMALIZATION": Rule(
        "LOCAL_RESPONSE_NORMALIZATION; TRANSPOSE if the axis is not the last", _local_response
    ),
    "INSTANCE_NORMALIZATION": Rule("MEAN, SUB, MUL, ADD, RSQRT", images.instance_normalization),
    "RESIZE_BILINEAR": _resize("RESIZE_BILINEAR", "ResizeBilinearOptions"),
    "RESIZE_NEAREST_NEIGHBOR": _resize("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    "ARGMAX": _argument("ARG_MAX", "ArgMaxOptions", "OutputType"),
    "ARGMIN": _argument("ARG_MIN", "ArgMinOptions", "OutputType"),
    "TOPK_V2": Rule(
        "TOPK_V2",
        _topk,
        "for equal elements TensorFlow Lite returns the first index, NNAPI the last",
        native=one_kind("input", "values"),
    ),
}
