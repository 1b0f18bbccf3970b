"""RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR."""

from typing import NamedTuple

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, dtype_of, is_float, rounded, saturated
from nnapi_shim.errors import op_failed
from nnapi_shim.operations.declare import BoundOperation


def resize_bilinear(op: BoundOperation) -> list[Array]:
    """Between the pixels around c = y * scale, or (y + 0.5) * scale - 0.5 with half_pixel_centers:
    (1 - f) * input[lower] + f * input[upper], lower = max(floor(c), 0), upper = min(ceil(c),
    size - 1), f = c - lower, along y and along x.

    Of quantized tensors the stored values are taken: in float32, 0.5 is added, and the result is
    truncated toward zero (semantics.md 7.8).
    """
    return [_between_floats(op) if is_float(op.output) else _between_stored(op)]


def _between_floats(op: BoundOperation) -> Array:
    """Means in float64, along y, then along x; rounded once."""
    pixels = op.input.value.astype(np.float64)
    for axis in _axes(op, pixels):
        lower, upper, share = _neighbours(op, axis)
        # Outside of the first and the last pixel both are the same, and so is any mean of them.
        share = _along(axis, np.where(lower == upper, 0, share).astype(np.float64))
        below, above = np.take(pixels, lower, axis.number), np.take(pixels, upper, axis.number)
        pixels = below * (1 - share) + above * share
    return pixels.astype(dtype_of(op.output.type))


def _between_stored(op: BoundOperation) -> Array:
    """The sum of four products, one after the other, in float32."""
    pixels = op.input.value.astype(np.float32)
    rows, columns = _axes(op, pixels)
    top, bottom, down = _neighbours(op, rows)
    left, right, across = _neighbours(op, columns)
    down, across = _along(rows, down), _along(columns, across)

    def product(row: Array, column: Array, share_of_row: Array, share_of_column: Array) -> Array:
        pixels_taken = np.take(np.take(pixels, row, rows.number), column, columns.number)
        weighted: Array = pixels_taken * share_of_row * share_of_column
        return weighted

    total = product(top, left, 1 - down, 1 - across)
    total += product(bottom, left, down, 1 - across)
    total += product(top, right, 1 - down, across)
    total += product(bottom, right, down, across)
    return saturated(np.trunc(total + np.float32(0.5)), op.output.type)


def resize_nearest_neighbor(op: BoundOperation) -> list[Array]:
    """The pixel min(floor(t), size - 1), t = y * scale, or (y + 0.5) * scale with
    half_pixel_centers; with align_corners t is rounded.
    """
    pixels = op.input.value
    for axis in _axes(op, pixels):
        centre = 0.5 if op.half_pixel_centers else 0.0
        at = (np.arange(axis.resized, dtype=np.float32) + np.float32(centre)) * axis.scale
        index = rounded(at) if op.align_corners else np.floor(at)
        pixels = np.take(pixels, np.clip(index, 0, axis.size - 1).astype(np.int64), axis.number)
    return [pixels]


class _Axis(NamedTuple):
    """A spatial axis: its number, its sizes, and the step in the input per pixel of the output."""

    number: int
    size: int
    resized: int
    scale: np.float32


def _neighbours(op: BoundOperation, axis: _Axis) -> tuple[Array, Array, Array]:
    """The pixels on both sides of each c, and f, in float32."""
    centre = np.float32(0.5 if op.half_pixel_centers else 0)
    at = (np.arange(axis.resized, dtype=np.float32) + centre) * axis.scale - centre
    # Of more than 2^24 pixels the last c is rounded to `size`; the reference reads beyond it.
    lower = np.clip(np.floor(at), 0, axis.size - 1)
    upper = np.minimum(np.ceil(at), axis.size - 1)
    return lower.astype(np.int64), upper.astype(np.int64), at - lower


def _along(axis: _Axis, values: Array) -> Array:
    """Values for each pixel of an axis, to be multiplied with images."""
    return values.reshape(-1, *[1] * (3 - axis.number))


def _axes(op: BoundOperation, pixels: Array) -> list[_Axis]:
    """Height and width. scale = size / resized, or (size - 1) / (resized - 1) with align_corners
    and more than one pixel; in float32 (semantics.md 7.8).
    """
    axes = []
    first = 2 if op.nchw else 1
    for number, name in ((first, "height"), (first + 1, "width")):
        size, resized = pixels.shape[number], getattr(op, f"output_{name}")
        if resized is None:
            factor = getattr(op, f"{name}_scale")
            if not abs(size * factor) < 2**32:
                raise op_failed(
                    f"{name}_scale is {factor:g}; the {name} is too large", "resize.scale"
                )
            resized = int(np.floor(np.float32(size) * np.float32(factor)))
        if resized < 1:
            raise op_failed(
                f"output has {name} {resized}; it must be at least 1", "resize.output-size"
            )
        corners = 1 if op.align_corners and resized > 1 else 0
        scale = np.float32(size - corners) / np.float32(resized - corners)
        axes.append(_Axis(number, size, resized, scale))
    return axes
