"""RESHAPE, SQUEEZE, EXPAND_DIMS, RANK and FILL."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations.declare import BoundOperation, Operation, form
from nnapi_shim.operations.rules import (
    axis_in_range,
    one_dimensional,
    outputs_fit,
    rank_at_most,
    rank_limit,
)
from nnapi_shim.operations.shapes import reshaped
from nnapi_shim.operations.signatures import F16, F32, I32, movement, rows


def axes_have_size_one(op: BoundOperation) -> None:
    """The axes to remove lie in [-rank, rank) and have size 1; they may repeat."""
    dimensions = op.input.dimensions
    for axis in op.axes or ():
        size = dimensions[axis_in_range(axis, len(dimensions), "axes has")]
        if size != 1:
            raise op_failed(
                f"axes has {axis}, an axis of size {size}; only axes of size 1 can be removed",
                "squeeze.axes",
            )


def squeezed(op: BoundOperation) -> list[Dimensions]:
    """Without the axes named, or without all of size 1; [1] if nothing is left."""
    dimensions = op.input.dimensions
    axes = {axis % len(dimensions) for axis in op.axes or range(len(dimensions))}
    kept = [size for axis, size in enumerate(dimensions) if size != 1 or axis not in axes]
    return [tuple(kept) or (1,)]


def axis_can_be_inserted(op: BoundOperation) -> None:
    """The axis lies in [-rank - 1, rank]."""
    axis_in_range(op.axis, len(op.input.dimensions) + 1)


def expanded(op: BoundOperation) -> list[Dimensions]:
    """With a 1 inserted at the axis."""
    dimensions = op.input.dimensions
    axis = op.axis % (len(dimensions) + 1)
    return [(*dimensions[:axis], 1, *dimensions[axis:])]


def dims_are_sizes(op: BoundOperation) -> None:
    """There is a size, and none is negative."""
    if not op.dims or min(op.dims) < 0:
        raise op_failed(
            f"dims is {list(op.dims)}; it must hold sizes from 0, at least one", "fill.dims"
        )


RESHAPE = movement(
    OperationType.RESHAPE,
    doc="output = the elements of input, in order; the size that fits replaces a -1 in shape.",
    types=rows("T T", f32=1, f16=3, qu8=1, qs8=4, i32=6),
    forms=[form("input shape:TENSOR_INT32")],
    values=["shape"],
    rules=[rank_at_most(4, "input")],
    checks=[rank_limit(4, "input")],
    legacy=True,
    shape=lambda op: [reshaped(op.input.dimensions, op.shape)],
)

SQUEEZE = movement(
    OperationType.SQUEEZE,
    doc="output = input without the dimensions of size 1 that axes names; without all if omitted.",
    types=rows("T T", f32=2, f16=3, qu8=2, qs8=4),
    forms=[form("input axes:TENSOR_INT32")],
    values=["axes"],
    omittable=["axes"],
    rules=[rank_at_most(4, "input")],
    checks=[rank_limit(4, "input"), one_dimensional("axes", omitted=True), axes_have_size_one],
    shape=squeezed,
)

EXPAND_DIMS = movement(
    OperationType.EXPAND_DIMS,
    doc="output = input with a dimension of size 1 inserted at axis.",
    types=rows("T T", f32=3, f16=3, i32=3, qu8=3, qs8=4),
    forms=[form("input axis:INT32")],
    checks=[axis_can_be_inserted],
    legacy=True,
    shape=expanded,
)

RANK = Operation(
    OperationType.RANK,
    doc="rank = the number of dimensions of input.",
    columns="input -> rank",
    types=rows("T INT32", f16=4, f32=4, i32=4, b8=4, qu8=4, qs8=4, qu16=4, qs16=4, qsym8=4, qc8=4),
    forms=[form("input")],
    infinite_scales=True,
    shape=lambda op: [()],
    work=0,
)

FILL = Operation(
    OperationType.FILL,
    doc="output = a tensor of dimensions dims, every element of which is value.",
    columns="value -> output",
    types={"f16": (4, T.FLOAT16, F16), "f32": (4, T.FLOAT32, F32), "i32": (4, T.INT32, I32)},
    forms=[form("dims:TENSOR_INT32 value")],
    values=["dims"],
    checks=[one_dimensional("dims"), dims_are_sizes, outputs_fit],
    shape=lambda op: [op.dims],
    work=0,
)
