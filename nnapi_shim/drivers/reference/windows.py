"""A window that slides over an image, tap by tap, and the two layouts of images."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array
from nnapi_shim.drivers.reference.deadline import watched
from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import PaddingCode
from nnapi_shim.operations.declare import BoundOperation


def to_nhwc(image: Array, nchw: bool) -> Array:
    """An image in the layout of an operation as [batch, height, width, depth]."""
    return np.moveaxis(image, 1, 3) if nchw else image


def from_nhwc(image: Array, nchw: bool) -> Array:
    """[batch, height, width, depth] in the layout of an operation."""
    return np.moveaxis(image, 3, 1) if nchw else image


class Axis(NamedTuple):
    """Along one axis, window number y covers y * stride - head + i * dilation, i < taps.

    size: of the image. head: padding in front. output: number of windows.
    """

    size: int
    taps: int
    stride: int
    dilation: int
    head: int
    output: int

    def reaching(self) -> Sequence[int]:
        """The taps inside the image in at least one window; may include a few others."""
        if self.taps <= self.output * self.size:
            return range(self.taps)
        # A window may be much larger than the image.
        taps: set[int] = set()
        for window in range(self.output):
            offset = self.head - window * self.stride
            first = max(0, -(-offset // self.dilation))
            end = min(self.taps, (offset + self.size - 1) // self.dilation + 1)
            taps.update(range(first, end))
        return sorted(taps)

    def reached(self, tap: int) -> tuple[slice, slice]:
        """The windows in which a tap is inside the image, and its positions there."""
        offset = tap * self.dilation - self.head
        first = max(0, -(offset // self.stride))
        end = min(self.output, (self.size - 1 - offset) // self.stride + 1)
        if end <= first:
            return slice(0), slice(0)
        start = first * self.stride + offset
        stop = (end - 1) * self.stride + offset + 1
        return slice(first, end), slice(start, stop, self.stride)


class Windows(NamedTuple):
    """All windows of an operation."""

    vertical: Axis
    horizontal: Axis

    def taps(self) -> Iterator[tuple[int, int, tuple[slice, ...], tuple[slice, ...]]]:
        """Per tap: (row, column, outputs whose tap is inside the image, positions in the image).

        Taps that are outside the image for all outputs may be omitted.
        """
        for i in self.vertical.reaching():
            for j in watched(self.horizontal.reaching()):
                windows_down, rows = self.vertical.reached(i)
                windows_across, columns = self.horizontal.reached(j)
                every = slice(None)
                yield i, j, (every, windows_down, windows_across), (every, rows, columns)


def windows(op: BoundOperation, image: Array, taps_down: int, taps_across: int) -> Windows:
    """The windows of a bound operation over image: [batch, height, width, depth]."""
    dilations = getattr(op, "dilation_height", 1), getattr(op, "dilation_width", 1)
    down = taps_down, op.stride_height, dilations[0], op.padding, op.pad_top, op.pad_bottom
    across = taps_across, op.stride_width, dilations[1], op.padding, op.pad_left, op.pad_right
    result = Windows(_axis(image.shape[1], *down), _axis(image.shape[2], *across))
    if result.vertical.output < 1 or result.horizontal.output < 1:
        raise op_failed(
            f"a filter of {taps_down} x {taps_across} does not fit into the padded image of "
            f"{image.shape[1]} x {image.shape[2]}",
            "operation.window.too-large",
        )
    return result


def _axis(
    size: int, taps: int, stride: int, dilation: int, scheme: int | None, head: int, tail: int
) -> Axis:
    """Padding and number of windows along one axis (semantics.md 5.9).

    scheme: SAME pads so that there are ceil(size / stride) windows, the odd element behind; any
    other does not pad; None for explicit padding.
    """
    if min(taps, stride, dilation) < 1:
        raise op_failed(
            f"filter size {taps}, stride {stride}, dilation {dilation}; all must be at least 1",
            "operation.window.size",
        )
    covered = (taps - 1) * dilation + 1
    if scheme is None:
        if min(head, tail) < 0 or max(head, tail) >= covered:
            raise op_failed(
                f"paddings are {head} and {tail}; allowed are 0 to {covered - 1}",
                "operation.window.padding",
            )
    elif scheme == PaddingCode.SAME:
        last_window = ((size + stride - 1) // stride - 1) * stride
        padding = max(0, last_window + covered - size)
        head = padding // 2
        tail = padding - head
    else:
        head = tail = 0
    output = (size - covered + stride + head + tail) // stride
    return Axis(size, taps, stride, dilation, head, output)
