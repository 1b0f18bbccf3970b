"""Convolutions and matrix products."""

from typing import Any

import numpy as np

from nnapi_shim.formats.graph.builder import ExportBuilder
from nnapi_shim.formats.graph.expansion import images
from nnapi_shim.formats.graph.rule import RefusedError, Rule, known, row
from nnapi_shim.formats.graph.tensor import Node, Tensor
from nnapi_shim.formats.tflite.exporting.kinds import eight_bits, ints, only
from nnapi_shim.formats.tflite.exporting.types import type_code
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.operations.convolution import convolution_window, transpose_spans
from nnapi_shim.operations.shapes import Window, span

U8, S8, C8 = (
    T.TENSOR_QUANT8_ASYMM,
    T.TENSOR_QUANT8_ASYMM_SIGNED,
    T.TENSOR_QUANT8_SYMM_PER_CHANNEL,
)
SAME, VALID = 0, 1
"""Padding codes of the TensorFlow Lite schema."""


def padding_of(b: ExportBuilder, op: Node, geometry: Window) -> tuple[Tensor, int]:
    """The image and the padding scheme; the image is padded if neither SAME nor VALID matches."""
    rows, columns = geometry.vertical, geometry.horizontal
    if not (rows.head or rows.tail or columns.head or columns.tail):
        return op.input, VALID
    extents = [
        (size - 1) * getattr(op, f"dilation_{name}", 1) + 1
        for size, name in ((geometry.filter_height, "height"), (geometry.filter_width, "width"))
    ]
    same = (
        span(geometry.in_height, extents[0], op.stride_height, 1, None, None),
        span(geometry.in_width, extents[1], op.stride_width, 1, None, None),
    )
    if same == (rows, columns):
        return op.input, SAME
    return images.padded(b, op.input, geometry), VALID


def _padded(b: ExportBuilder, op: Any) -> tuple[Tensor, int]:
    """As padding_of; an implicit scheme needs no known image size."""
    if op.padding is not None:
        return op.input, SAME if op.padding == 1 else VALID
    known(op.input, "input")
    return padding_of(b, op, convolution_window(op))


def weighted(node: Node) -> bool:
    """Whether the kernels support this quantized use, possibly after a sign change."""
    weights: Any = node.named.get("filter", node.named.get("weights"))
    kinds = {U8, S8, C8}
    if any(t.type not in kinds for t in (node.input, weights, node.output)):
        return False
    if node.input.type is S8 and weights.type is S8 and weights.zero_point:
        return weights.value is not None
    return True


def quantized(lower: Any) -> Any:
    """A convolution whose quantized operands are converted to types that the kernels support.

    The kernels support neither unsigned images with per-channel filters nor signed filters with a
    zero point other than 0. The signedness of image and result, or of image, filter and result, is
    changed.
    """

    def changed(b: ExportBuilder, op: Node) -> None:
        to = None
        filter = op.filter
        if op.input.type is U8 and filter.type is C8:
            to, by = S8, -128
        elif op.input.type is S8 and filter.type is S8 and filter.zero_point:
            to, by = U8, 128
            moved = Tensor(
                U8, filter.dimensions, filter.scale, filter.zero_point + 128, name=filter.name
            )
            moved.value = (filter.value.astype(np.int16) + 128).astype(np.uint8)
            filter = moved
        if to is not None:
            x, out = op.input, op.output
            image = Tensor(to, x.dimensions, x.scale, x.zero_point + by)
            result = Tensor(to, out.dimensions, out.scale, out.zero_point + by)
            b.emit("QUANTIZE", [x], [image])
            lower(b, op.with_operands([result], input=image, filter=filter))
            b.emit("QUANTIZE", [result], [out])
        else:
            lower(b, op)

    return changed


def bias_of(op: Node, weights: Tensor) -> Tensor:
    """The bias; for a per-channel filter with per-channel scales."""
    bias: Tensor = op.bias
    if weights.channel_quant is None:
        return bias
    result = Tensor(bias.type, bias.dimensions, name=bias.name, value=bias.value)
    if bias.value is None:
        return bias
    scales = np.float32(op.input.scale) * np.asarray(weights.channel_quant.scales, np.float32)
    result.channel_quant = weights.channel_quant._replace(
        scales=tuple(scales.tolist()), channel_dim=0
    )
    return result


def _convolution(kind: str, **more: str) -> Any:
    """A convolution; more: option -> operand with its value."""

    @quantized
    def lower(b: ExportBuilder, op: Node) -> None:
        x, padding = _padded(b, op)
        b.emit(
            kind,
            [x, op.filter, bias_of(op, op.filter)],
            [op.output],
            Padding=padding,
            StrideW=op.stride_width,
            StrideH=op.stride_height,
            FusedActivationFunction=op.activation,
            DilationWFactor=op.dilation_width,
            DilationHFactor=op.dilation_height,
            **{option: getattr(op, name) for option, name in more.items()},
        )

    return lower


@quantized
def _transpose_conv(b: ExportBuilder, op: Node) -> None:
    """TRANSPOSE_CONV with VALID padding, then a SLICE that applies the padding."""
    known(op.input, "input")
    rows, columns = transpose_spans(op)  # type: ignore[arg-type]
    batch, height, width, _ = op.input.dimensions
    depth, filter_height, filter_width, _ = op.filter.dimensions
    full = (
        batch,
        max((height - 1) * op.stride_height + filter_height, rows.head + rows.output),
        max((width - 1) * op.stride_width + filter_width, columns.head + columns.output),
        depth,
    )
    for whole, size, extent, stride in (
        (full[1], height, filter_height, op.stride_height),
        (full[2], width, filter_width, op.stride_width),
    ):
        if whole - (size - 1) * stride - extent >= stride:
            raise RefusedError("output_shape is larger than the full output of the convolution")
    expected = (batch, rows.output, columns.output, depth)
    whole = op.output if full == expected else op.output.like(full)
    options: dict[str, Any] = {
        "StrideW": op.stride_width,
        "StrideH": op.stride_height,
        "FusedActivationFunction": op.activation,
    }
    shape = ints(full) if batch else _shape_of(b, op.input, full)
    b.emit(
        "TRANSPOSE_CONV",
        [shape, op.filter, op.input, bias_of(op, op.filter)],
        [whole],
        Padding=VALID,
        **options,
    )
    if whole is not op.output:
        b.slice(whole, (0, rows.head, columns.head, 0), expected, op.output)


def _shape_of(b: ExportBuilder, x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The shape as a tensor whose first size is the image's batch."""
    all_sizes = Tensor(T.TENSOR_INT32, (4,))
    kind = type_code(T.TENSOR_INT32)
    b.emit("SHAPE", [x], [all_sizes], OutType=kind)
    first = b.slice(all_sizes, (0,), (1,))
    return b.concatenate([first, ints(sizes[1:])], 0)


def _batch_matmul(b: ExportBuilder, op: Node) -> None:
    if op.lhs.type is T.TENSOR_INT32:
        raise RefusedError("TensorFlow Lite has no matrix product of TENSOR_INT32")
    b.emit(
        "BATCH_MATMUL",
        [op.lhs, op.rhs],
        [op.output],
        AdjX=bool(op.adj_x),
        AdjY=bool(op.adj_y),
    )


RULES = {
    "CONV_2D": Rule(
        "CONV_2D; preceded by PAD for other explicit paddings",
        _convolution("CONV_2D"),
        native=weighted,
    ),
    "DEPTHWISE_CONV_2D": Rule(
        "DEPTHWISE_CONV_2D; preceded by PAD for other explicit paddings",
        _convolution("DEPTHWISE_CONV_2D", DepthMultiplier="depth_multiplier"),
        native=weighted,
    ),
    "GROUPED_CONV_2D": Rule(
        "SLICE, CONV_2D for each group, CONCATENATION", images.grouped_conv_2d, native=weighted
    ),
    "TRANSPOSE_CONV_2D": Rule(
        "TRANSPOSE_CONV; SLICE for padding", _transpose_conv, native=weighted
    ),
    "FULLY_CONNECTED": row(
        *("FULLY_CONNECTED", "input", "weights", "bias"),
        native=eight_bits,
        FusedActivationFunction="activation",
    ),
    "BATCH_MATMUL": Rule("BATCH_MATMUL", _batch_matmul, native=only(S8)),
}
