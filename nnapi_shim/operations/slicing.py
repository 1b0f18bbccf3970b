"""SLICE STRIDED_SLICE SPLIT: parts of a tensor."""

from math import ceil

from nnapi_shim.errors import bad_data, op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import NamedTuple
from nnapi_shim.operations.declare import (
    BoundOperation,
    Check,
    declared_or,
    form,
)
from nnapi_shim.operations.rules import (
    axis_exists,
    copied_as_stored,
    float32,
    one_dimensional,
    rank_at_most,
    rank_limit,
)
from nnapi_shim.operations.signatures import movement, rows

ANY_TENSOR = rows("T T", f32=3, f16=3, i32=3, qu8=3, qs8=4)


def one_per_dimension(*names: str) -> Check:
    """One element for each dimension of the input: `names`."""

    def check(op: BoundOperation) -> None:
        rank = len(op.input.dimensions)
        for name in names:
            if len(getattr(op, name)) != rank:
                raise op_failed(
                    f"{name} is {list(getattr(op, name))}; the input has {rank} dimensions",
                    "slice.one-per-dimension",
                )

    return check


def slice_is_inside(op: BoundOperation) -> None:
    """0 <= begin <= begin + size <= the input's size; a size of -1 reaches to the end."""
    for axis, (limit, begin, size) in enumerate(
        zip(op.input.dimensions, op.begin, op.size, strict=True)
    ):
        if not 0 <= begin <= limit or size < -1 or begin + size > limit:
            raise op_failed(
                f"begin is {begin} and size {size} along axis {axis}; the input has {limit} "
                "elements there",
                "slice.range",
            )


def slice_sizes(op: BoundOperation) -> list[Dimensions]:
    """Size, with -1 replaced by the rest of the input."""
    return [
        tuple(
            limit - begin if size == -1 else size
            for limit, begin, size in zip(op.input.dimensions, op.begin, op.size, strict=True)
        )
    ]


class Range(NamedTuple):
    """`length` indices along an axis: start, start + stride, ..."""

    start: int
    length: int
    stride: int


def ranges(op: BoundOperation) -> list[Range]:
    """The index range of STRIDED_SLICE along each axis of its input."""
    result = []
    for axis, size in enumerate(op.input.dimensions):
        stride, bit = op.strides[axis], 1 << axis
        low, high = (0, size) if stride > 0 else (-1, size - 1)

        def clamped(index: int, size: int = size, low: int = low, high: int = high) -> int:
            return max(low, min(high, index + size if index < 0 else index))

        first, last = (low, high) if stride > 0 else (high, low)
        start = first if op.begin_mask & bit else clamped(op.begin[axis])
        end = last if op.end_mask & bit else clamped(op.end[axis])
        # The reference divides in float32, which is inexact from 2^24 elements on.
        in_float32 = ceil(float32(float32(end - start) / float32(stride)))
        # Differs: the reference reads out of bounds if this is too large.
        exact = -(-(end - start) // stride)
        result.append(Range(start, max(0, min(exact, in_float32)), stride))
    return result


def strides_not_zero(op: BoundOperation) -> None:
    """No stride is 0."""
    if 0 in op.strides:
        raise op_failed(f"strides is {list(op.strides)}; none may be 0", "strided-slice.strides")


def shrunk_axes_have_one_element(op: BoundOperation) -> None:
    """An axis that the result drops is sliced to one element, with a positive stride."""
    for axis, (_, length, stride) in enumerate(ranges(op)):
        if op.shrink_axis_mask & (1 << axis) and (stride < 0 or length != 1):
            raise op_failed(
                f"shrink_axis_mask drops axis {axis}, whose slice has stride {stride} and {length} "
                "elements; it must have a positive stride and one element",
                "strided-slice.shrink-axis-mask",
            )


def strided_sizes(op: BoundOperation) -> list[Dimensions]:
    """Lengths of the ranges, without the dropped axes; [1] if all are dropped."""
    kept = [
        length
        for axis, (_, length, _) in enumerate(ranges(op))
        if not op.shrink_axis_mask & (1 << axis)
    ]
    return [tuple(kept) or (1,)]


def splits_are_the_outputs(op: BoundOperation) -> None:
    """num_splits is the number of outputs (BAD_DATA in the reference)."""
    if op.num_splits != len(op.outputs):
        raise bad_data(
            f"num_splits is {op.num_splits}; there are {len(op.outputs)} outputs",
            "split.output-count",
        )


def axis_divides(op: BoundOperation) -> None:
    """num_splits divides the axis."""
    size = op.input.dimensions[op.axis]
    if size % op.num_splits:
        raise op_failed(
            f"num_splits is {op.num_splits}; it must divide {size}, the size of axis {op.axis}",
            "split.axis-size",
        )


def parts(op: BoundOperation) -> list[Dimensions]:
    """Equal parts of the axis."""
    sizes = list(op.input.dimensions)
    sizes[op.axis] //= op.num_splits
    return [tuple(sizes)] * op.num_splits


SLICE = movement(
    OperationType.SLICE,
    doc="output[i...] = input[begin + i...]; a size of -1 reaches to the end of the input.",
    types=ANY_TENSOR,
    forms=[form("input begin:TENSOR_INT32 size:TENSOR_INT32")],
    values=["begin", "size"],
    checks=[
        one_dimensional("begin", "size"),
        one_per_dimension("begin", "size"),
        slice_is_inside,
    ],
    remarks=[copied_as_stored],
    allow_zero_sized=True,
    shape=slice_sizes,
    quantization=declared_or("input"),
    looks_up="input",
)

STRIDED_SLICE = movement(
    OperationType.STRIDED_SLICE,
    doc="output[i...] = input[begin + i * strides...] up to end; bit k of a mask is for axis k.",
    types=rows("T T", f32=2, f16=3, qu8=2, qs8=4),
    forms=[
        form(
            "input begin:TENSOR_INT32 end:TENSOR_INT32 strides:TENSOR_INT32 begin_mask:INT32 "
            "end_mask:INT32 shrink_axis_mask:INT32"
        )
    ],
    values=["begin", "end", "strides"],
    rules=[rank_at_most(4, "input")],
    checks=[
        rank_limit(4, "input"),
        one_dimensional("begin", "end", "strides"),
        one_per_dimension("begin", "end", "strides"),
        strides_not_zero,
        shrunk_axes_have_one_element,
    ],
    remarks=[copied_as_stored],
    shape=strided_sizes,
    quantization=declared_or("input"),
    looks_up="input",
)

SPLIT = movement(
    OperationType.SPLIT,
    doc="outputs = num_splits equal parts of input along axis, in order.",
    columns="input -> outputs",
    types=ANY_TENSOR,
    forms=[form("input axis:INT32 num_splits:INT32 -> outputs...")],
    checks=[splits_are_the_outputs, axis_exists, axis_divides],
    legacy=True,
    shape=parts,
)
