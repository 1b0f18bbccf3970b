"""Boxes: x1, y1, x2, y2 in the last dimension. Numbers that decisions depend on are float32."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, dtype_of, is_float, real, rounded, saturated
from nnapi_shim.operations.declare import BoundOperand
from nnapi_shim.operations.faults import box_reversed, index_outside


def reals(operand: BoundOperand) -> Array:
    """The real values of an operand, in float32."""
    return real(operand).astype(np.float32)


def stored(values: Array, target: BoundOperand) -> Array:
    """Real numbers as elements of an output; quantized: round(x / scale + zero_point).

    NaN becomes the smallest quantized number.
    """
    if is_float(target):
        return values.astype(dtype_of(target.type))
    steps = values / target.scale + target.zero_point
    return saturated(rounded(steps), target.type)


def check_corners(boxes: Array, name: str) -> None:
    """No box ends before it begins; raises OP_FAILED."""
    ordered = (boxes[..., 0] <= boxes[..., 2]) & (boxes[..., 1] <= boxes[..., 3])
    if not ordered.all():
        at = int(np.argmin(ordered))
        raise box_reversed(name, at, boxes.reshape(-1, 4)[at].tolist())


def check_indexes(indexes: Array, name: str, size: int) -> None:
    """Every index is in a dimension of this size; raises OP_FAILED."""
    outside = (indexes < 0) | (indexes >= size)
    if outside.any():
        at = int(np.argmax(outside))
        raise index_outside(name, at, int(indexes.flat[at]), size)


def transformed(boxes: Array, deltas: Array, image_info: Array) -> Array:
    """Boxes moved and scaled by deltas dx, dy, dw, dh, and clamped to images of (height, width).

    The centre moves by (dx * w, dy * h), the size becomes (w * e^dw, h * e^dh). Rounded to float32.
    """
    (x1, y1, x2, y2), (dx, dy, dw, dh), (height, width) = (
        np.moveaxis(array.astype(np.float64), -1, 0) for array in (boxes, deltas, image_info)
    )
    w, h = x2 - x1, y2 - y1
    x, y = (x1 + x2) / 2 + dx * w, (y1 + y2) / 2 + dy * h
    half_w, half_h = np.exp(dw) * w / 2, np.exp(dh) * h / 2
    corners = (
        np.clip(x - half_w, 0, width),
        np.clip(y - half_h, 0, height),
        np.clip(x + half_w, 0, width),
        np.clip(y + half_h, 0, height),
    )
    return np.stack(corners, -1).astype(np.float32)
