"""Convolutions, pooling and matrix products. ONNX images are NCHW."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.formats.graph.expansion import images
from nnapi_shim.formats.graph.rule import RefusedError, Rule, known
from nnapi_shim.formats.graph.tensor import Node, Tensor
from nnapi_shim.formats.onnx.exporting.constants import emit_activated, longs
from nnapi_shim.formats.onnx.exporting.types import INT64
from nnapi_shim.operations.convolution import transpose_spans
from nnapi_shim.operations.shapes import window

FIRST, LAST = (0, 3, 1, 2), (0, 2, 3, 1)
"""Permutations from NHWC to NCHW, and back."""


def on_image(b: Any, op: Node, kind: str, others: Sequence[Tensor | None], **options: Any) -> None:
    """Emit a node on the image in NCHW, then its activation, then transpose back to NHWC."""
    image = b.transpose(op.input, FIRST)
    sizes = tuple(op.output.dimensions[axis] for axis in FIRST) if op.output.dimensions else ()
    result = op.output.like(sizes)
    b.emit(kind, [image, *others], [result], **options)
    activation = op.named.get("activation", 0)
    if activation:
        result = b.activated(result, activation)
    b.transpose(result, LAST, op.output)


def _window(op: Any, kernel: tuple[int, int]) -> dict[str, Any]:
    """Kernel, strides and padding; auto_pad for images of unknown size."""
    options = {"kernel_shape": list(kernel), "strides": [op.stride_height, op.stride_width]}
    if op.padding is not None and 0 in (op.input.dimensions or (0,))[1:]:
        return {**options, "auto_pad": "SAME_UPPER" if op.padding == 1 else "VALID"}
    known(op.input, "input")
    geometry = window(op, *kernel)
    rows, columns = geometry.vertical, geometry.horizontal
    return {**options, "pads": [rows.head, columns.head, rows.tail, columns.tail]}


def _conv(b: Any, op: Node, filter: Tensor, groups: int) -> None:
    _, height, width, _ = op.filter.dimensions
    options = _window(op, (height, width))
    dilations = [op.dilation_height, op.dilation_width]
    on_image(b, op, "Conv", [filter, op.bias], dilations=dilations, group=groups, **options)


def _conv_2d(b: Any, op: Node) -> None:
    _conv(b, op, b.transpose(op.filter, FIRST), 1)


def _grouped(b: Any, op: Node) -> None:
    _conv(b, op, b.transpose(op.filter, FIRST), op.num_groups)


def _depthwise(b: Any, op: Node) -> None:
    """Conv with one group for each input channel."""
    groups = op.filter.dimensions[3] // op.depth_multiplier
    _conv(b, op, b.transpose(op.filter, (3, 0, 1, 2)), groups)


def _transpose_conv(b: Any, op: Node) -> None:
    """ConvTranspose; `pads` crop the full result, `output_padding` extends it at the end."""
    known(op.input, "input")
    spans = transpose_spans(op)  # type: ignore[arg-type]
    kernel = op.filter.dimensions[1:3]
    strides = (op.stride_height, op.stride_width)
    full_sizes = [
        (n - 1) * stride + extent
        for n, stride, extent in zip(op.input.dimensions[1:3], strides, kernel, strict=True)
    ]
    tails = [full - s.head - s.output for full, s in zip(full_sizes, spans, strict=True)]
    if any(-tail >= stride for tail, stride in zip(tails, strides, strict=True)):
        raise RefusedError("output_shape is larger than the full output of the convolution")
    on_image(
        b,
        op,
        "ConvTranspose",
        [b.transpose(op.filter, (3, 0, 1, 2)), op.bias],
        kernel_shape=list(kernel),
        strides=list(strides),
        pads=[spans[0].head, spans[1].head, max(tails[0], 0), max(tails[1], 0)],
        output_padding=[max(-tail, 0) for tail in tails],
    )


def _pool(kind: str, **more: Any) -> Rule:
    def lower(b: Any, op: Node) -> None:
        on_image(b, op, kind, [], **_window(op, (op.filter_height, op.filter_width)), **more)

    return Rule(kind, lower)


def _sizes(b: Any, x: Tensor, height: int, width: int) -> Tensor:
    """[batch, depth, height, width]; an unknown batch is read from the image at run time."""
    batch, _, _, depth = x.dimensions
    if batch:
        return longs([batch, depth, height, width])
    first = b.node("Shape", [x], sizes=(1,), type=INT64, start=0, end=1)
    rest = longs([depth, height, width])
    return b.node("Concat", [first, rest], sizes=(4,), type=INT64, axis=0)  # type: ignore[no-any-return]


def _resize(mode: str) -> Rule:
    def lower(b: Any, op: Node) -> None:
        _, height, width, _ = known(op.output, "output")
        coordinates, nearest_mode = "asymmetric", "floor"
        if op.align_corners:
            coordinates, nearest_mode = "align_corners", "round_prefer_ceil"
        elif op.half_pixel_centers:
            coordinates, nearest_mode = "half_pixel", "round_prefer_ceil"
        options = {"nearest_mode": nearest_mode} if mode == "nearest" else {}
        sizes = _sizes(b, op.input, height, width)
        on_image(
            b,
            op,
            "Resize",
            [None, None, sizes],
            mode=mode,
            coordinate_transformation_mode=coordinates,
            **options,
        )

    return Rule("Resize", lower)


def _fully_connected(b: Any, op: Node) -> None:
    x = op.input
    size = op.weights.dimensions[1]
    if x.rank != 2 or x.dimensions[1] != size:
        count = int(np.prod(x.dimensions)) if x.dimensions else 0
        x = b.reshape(x, (-1 if not count else count // size, size))
    emit_activated(b, op, "Gemm", [x, op.weights, op.bias], transB=1)


def _batch_matmul(b: Any, op: Node) -> None:
    sides = []
    for x, is_adjoint in ((op.lhs, op.adj_x), (op.rhs, op.adj_y)):
        perm = list(range(x.rank))
        perm[-2:] = perm[:-3:-1]
        sides.append(b.transpose(x, perm) if is_adjoint else x)
    b.emit("MatMul", sides, [op.output])


RULES = {
    "CONV_2D": Rule("Conv", _conv_2d),
    "DEPTHWISE_CONV_2D": Rule("Conv with groups", _depthwise),
    "GROUPED_CONV_2D": Rule("Conv with groups", _grouped),
    "TRANSPOSE_CONV_2D": Rule("ConvTranspose", _transpose_conv),
    "AVERAGE_POOL_2D": _pool("AveragePool", count_include_pad=0),
    "MAX_POOL_2D": _pool("MaxPool"),
    "L2_POOL_2D": Rule("Mul, AveragePool, Sqrt", images.l2_pool),
    "RESIZE_BILINEAR": _resize("linear"),
    "RESIZE_NEAREST_NEIGHBOR": _resize("nearest"),
    "FULLY_CONNECTED": Rule("Gemm", _fully_connected),
    "BATCH_MATMUL": Rule("MatMul", _batch_matmul),
}
