"""Errors of values at run time, shared by all devices.

`at` is the position of the value in its operand, `box` (x1, y1, x2, y2).
"""

from nnapi_shim.errors import NnapiError, op_failed
from nnapi_shim.hints import Sequence


def index_outside(name: str, at: int, index: int, size: int) -> NnapiError:
    """An index out of the range of a dimension of this size."""
    return op_failed(
        f"number {at} of {name} is {index}; allowed are 0 to {size - 1}", "operation.index.range"
    )


def box_reversed(name: str, at: int, box: Sequence[float]) -> NnapiError:
    """A box that ends before it begins."""
    return op_failed(
        f"box {at} of {name} is {_shown(box)}; x1 <= x2 and y1 <= y2 must hold", "boxes.reversed"
    )


def roi_outside(
    at: int, box: Sequence[float], size: tuple[int, int], strides: tuple[float, float]
) -> NnapiError:
    """A region of interest outside the feature map; size and strides: (height, width)."""
    return op_failed(
        f"box {at} of rois is {_shown(box)}; it must lie in the feature map of "
        f"{size[0]} x {size[1]} with strides {strides[0]:g} and {strides[1]:g}",
        "roi.outside",
    )


def score_is_nan(at: int) -> NnapiError:
    """A score that is not comparable (NaN)."""
    return op_failed(
        f"number {at} of scores is NaN; scores must have an order", "generate-proposals.nan-score"
    )


def _shown(box: Sequence[float]) -> str:
    return f"[{', '.join([f'{number:g}' for number in box])}]"
