"""Decompositions of operations on images and of rearrangements."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.formats.graph.builder import ExportBuilder
from nnapi_shim.formats.graph.rule import RefusedError, known
from nnapi_shim.formats.graph.tensor import Node, Tensor, constant
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations.shapes import Window, window


def padded(b: ExportBuilder, x: Tensor, geometry: Window, value: float | None = None) -> Tensor:
    """Pad an image as a window needs it, with `value` (0 by default)."""
    rows, columns = geometry.vertical, geometry.horizontal
    paddings = (0, 0, rows.head, rows.tail, columns.head, columns.tail, 0, 0)
    batch, height, width, depth = x.dimensions
    sizes = (batch, height + rows.head + rows.tail, width + columns.head + columns.tail, depth)
    if value is None:
        return b.make("PAD", x.like(sizes), input=x, paddings=paddings)
    return b.make("PAD_V2", x.like(sizes), input=x, paddings=paddings, pad_value=value)


def pool_window(op: Node) -> Window:
    """The window of a pooling operation; the image dimensions are known."""
    known(op.input, "input")
    return window(op, op.filter_height, op.filter_width)  # type: ignore[arg-type]


def average_by_sums(b: ExportBuilder, op: Node) -> None:
    """AVERAGE_POOL_2D with explicit padding, which NNAPI excludes from the count: the mean over the
    zero-padded image, times window size / number of valid elements.
    """
    geometry = pool_window(op)
    size = op.filter_height * op.filter_width
    counts = np.outer(
        _counts(geometry.in_height, op.filter_height, op.stride_height, geometry.vertical),
        _counts(geometry.in_width, op.filter_width, op.stride_width, geometry.horizontal),
    )
    mean = op.output.like()
    plain = {"padding": 2, "pad_left": None, "pad_right": None, "pad_top": None, "pad_bottom": None}
    inner = op.with_operands([mean], input=padded(b, op.input, geometry), activation=0, **plain)
    b.express(inner)
    scaled = b.mul(mean, constant((size / counts)[None, :, :, None].astype(np.float32)))
    b.activated(scaled, op.activation, op.output)


def _counts(size: int, extent: int, stride: int, span: object) -> Any:
    """The number of valid elements under each window position along one axis."""
    starts = np.arange(span.output) * stride - span.head  # type: ignore[attr-defined]
    return np.minimum(starts + extent, size) - np.maximum(starts, 0)


def l2_pool(b: ExportBuilder, op: Node) -> None:
    """The square root of the mean of squares."""
    squares = b.mul(op.input, op.input)
    mean = op.output.like()
    named = {**op.named, "input": squares, "activation": 0, "output": mean}
    b.express(Node("AVERAGE_POOL_2D", named, [mean]))
    b.activated(b.unary("SQRT", mean), op.activation, op.output)


def _rearranged(
    b: ExportBuilder, op: Node, x: Tensor, split: Dimensions, perm: Sequence[int], sizes: Dimensions
) -> None:
    """The elements in other dimensions, transposed."""
    b.reshape(b.transpose(b.reshape(x, split), perm), sizes, op.output)


def channel_shuffle(b: ExportBuilder, op: Node) -> None:
    """Transpose [.., groups, size / groups, ..]."""
    sizes = known(op.input, "input")
    axis = op.axis % len(sizes)
    left, right = (int(np.prod(part)) for part in (sizes[:axis], sizes[axis + 1 :]))
    split = (left, op.num_groups, sizes[axis] // op.num_groups, right)
    _rearranged(b, op, op.input, split, (0, 2, 1, 3), sizes)


def instance_normalization(b: ExportBuilder, op: Node) -> None:
    """(x - mean) / standard deviation over height and width, times gamma plus beta."""
    deviation = b.sub(op.input, b.mean(op.input, (1, 2)))
    variance = b.mean(b.mul(deviation, deviation), (1, 2))
    spread = b.unary("RSQRT", b.add(variance, op.epsilon))
    b.add(b.mul(b.mul(deviation, spread), op.gamma), op.beta, op.output)


def elu(b: ExportBuilder, op: Node) -> None:
    """max(0, x) + min(0, alpha * (exp(x) - 1))."""
    if op.alpha < 0:
        negative = b.mul(b.sub(b.unary("EXP", op.input), 1.0), op.alpha)
        b.add(b.unary("RELU", op.input), b.binary("MINIMUM", negative, 0.0), op.output)
        return
    below = b.sub(b.unary("EXP", b.binary("MINIMUM", op.input, 0.0)), 1.0)
    b.add(b.unary("RELU", op.input), b.mul(below, op.alpha), op.output)


def grouped_conv_2d(b: ExportBuilder, op: Node) -> None:
    """One convolution for each group of channels."""
    sizes = known(op.input, "input")
    filters = known(op.filter, "filter")
    groups = op.num_groups
    depth_in, depth_out = sizes[3] // groups, filters[0] // groups
    if op.filter.value is None and op.filter.channel_quant:
        raise RefusedError("its per-channel filter is not a constant of the model")
    parts = []
    for at in range(groups):
        image = b.slice(op.input, (0, 0, 0, at * depth_in), (*sizes[:3], depth_in))
        rows = slice(at * depth_out, (at + 1) * depth_out)
        filter, bias = _part(b, op.filter, rows), _part(b, op.bias, rows)
        part = op.output.like((*op.output.dimensions[:3], depth_out))
        named = {k: v for k, v in op.named.items() if k not in ("num_groups", "output")}
        named |= {"input": image, "filter": filter, "bias": bias, "output": part}
        b.express(Node("CONV_2D", named, [part]))
        parts.append(part)
    b.concatenate(parts, 3, op.output)


def _part(b: ExportBuilder, x: Tensor, rows: slice) -> Tensor:
    """Rows of the first dimension; a constant is sliced at once."""
    sizes = (rows.stop - rows.start, *x.dimensions[1:])
    if x.value is None:
        return b.slice(x, (rows.start, *[0] * (x.rank - 1)), sizes)
    part = x.like(sizes)
    part.value = x.value[rows]
    if x.channel_quant:
        scales = x.channel_quant.scales[rows]
        part.channel_quant = x.channel_quant._replace(scales=scales)
    return part


def depth_to_space(b: ExportBuilder, op: Node) -> None:
    """Transpose [n, h, w, block, block, depth]."""
    n, h, w, depth = known(op.input, "input")
    size = op.block_size
    depth //= size * size
    sizes = (n, h * size, w * size, depth)
    _rearranged(b, op, op.input, (n * h, w, size, size * depth), (0, 2, 1, 3), sizes)


def space_to_depth(b: ExportBuilder, op: Node) -> None:
    """Transpose [n * h, block, w, block * depth]."""
    n, h, w, depth = known(op.input, "input")
    size = op.block_size
    split = (n * (h // size), size, w // size, size * depth)
    sizes = (n, h // size, w // size, depth * size * size)
    _rearranged(b, op, op.input, split, (0, 2, 1, 3), sizes)


def batch_to_space(b: ExportBuilder, op: Node) -> None:
    """Transpose [rows, columns, n, h, w, depth]."""
    batch, h, w, depth = known(op.input, "input")
    rows, columns = op.block_shape
    n = batch // (rows * columns)
    sizes = (n, h * rows, w * columns, depth)
    _rearranged(b, op, op.input, (rows, columns, n, h, w, depth), (2, 3, 0, 4, 1, 5), sizes)


def space_to_batch(b: ExportBuilder, op: Node) -> None:
    """Pad, then transpose [n, h, rows, w, columns, depth]."""
    n, h, w, depth = known(op.input, "input")
    rows, columns = op.block_shape
    top, bottom, left, right = op.paddings
    x = op.input
    if any(op.paddings):
        h, w = h + top + bottom, w + left + right
        paddings = (0, 0, *op.paddings, 0, 0)
        x = b.make("PAD", x.like((n, h, w, depth)), input=x, paddings=paddings)
    split = (n, h // rows, rows, w // columns, columns, depth)
    sizes = (n * rows * columns, h // rows, w // columns, depth)
    _rearranged(b, op, x, split, (2, 4, 0, 1, 3, 5), sizes)


def along_last(b: ExportBuilder, op: Node, axis: int, kind: str) -> None:
    """Lower an operation along `axis` as one along the last axis, between transpositions."""
    rank = op.input.rank
    perm = [at for at in range(rank) if at != axis] + [axis]
    moved = b.transpose(op.input, perm)
    result = op.output.like(moved.dimensions)
    named = {k: v for k, v in op.named.items() if k not in ("input", "axis", "output")}
    b.express(Node(kind, {**named, "input": moved, "axis": -1, "output": result}, [result]))
    back = [perm.index(at) for at in range(rank)]
    b.transpose(result, back, op.output)
