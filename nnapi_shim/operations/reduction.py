"""MEAN and the REDUCE operations."""

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import Any, Mapping, Sequence
from nnapi_shim.operations.declare import BoundOperation, Operation, form, same_as
from nnapi_shim.operations.rules import axis_in_range, one_dimensional, rank_at_most, rank_limit
from nnapi_shim.operations.signatures import rows

FLOATS = rows("T T", f16=3, f32=3)
NUMBERS = rows("T T", f16=3, f32=3, qu8=3, qs8=4)
BOOLEANS = rows("T T", b8=3)


def reduced_axes(op: BoundOperation) -> frozenset[int]:
    """The axes of the input that are reduced, each in [0, rank); `axes` may name one repeatedly.

    Differs: the reference does not validate the axes of MEAN with keep_dims, and reads out of
    bounds; here they are validated as those of the other operations.
    """
    rank = len(op.input.dimensions)
    return frozenset(axis_in_range(axis, rank, "axes has") for axis in op.axes)


def axes_exist(op: BoundOperation) -> None:
    """At least one axis is given, an empty list being a zero-sized input; all are in range."""
    if not op.axes:
        raise op.match.operation.refused_input(
            "axes has dimensions [0]; none may be 0", "operation.input.empty"
        )
    reduced_axes(op)


def reduced(op: BoundOperation) -> list[Dimensions]:
    """The axes are left out or, with keep_dims, 1; [1] if nothing is left."""
    axes = reduced_axes(op)
    sizes = enumerate(op.input.dimensions)
    if op.keep_dims > 0:
        return [tuple(1 if axis in axes else size for axis, size in sizes)]
    return [tuple(size for axis, size in sizes if axis not in axes) or (1,)]


def reduction(
    type: OperationType,
    doc: str,
    types: Mapping[str, Sequence[Any]],
    keep_dims: T = T.BOOL,
    legacy: bool = False,
) -> Operation:
    """A reduction; they differ by their formula and their types."""
    return Operation(
        type,
        doc=doc,
        columns="input -> output",
        types=types,
        forms=[form(f"input axes:TENSOR_INT32 keep_dims:{keep_dims.name}")],
        values=["axes"],
        rules=[rank_at_most(4, "input")],
        checks=[rank_limit(4, "input"), one_dimensional("axes"), axes_exist],
        legacy=legacy,
        infinite_scales=True,
        shape=reduced,
        work=(1, "input"),
        quantization=same_as("input"),
    )


MEAN = reduction(
    OperationType.MEAN,
    "output = the mean along `axes`; of stored values, rounded toward zero, if quantized.",
    rows("T T", f32=2, f16=3, qu8=2, qs8=4),
    keep_dims=T.INT32,
    legacy=True,
)
REDUCE_SUM = reduction(OperationType.REDUCE_SUM, "output = the sum along `axes`.", FLOATS)
REDUCE_PROD = reduction(OperationType.REDUCE_PROD, "output = the product along `axes`.", FLOATS)
REDUCE_MAX = reduction(OperationType.REDUCE_MAX, "output = the maximum along `axes`.", NUMBERS)
REDUCE_MIN = reduction(OperationType.REDUCE_MIN, "output = the minimum along `axes`.", NUMBERS)
REDUCE_ALL = reduction(
    OperationType.REDUCE_ALL, "output = whether all elements along `axes` are true.", BOOLEANS
)
REDUCE_ANY = reduction(
    OperationType.REDUCE_ANY, "output = whether any element along `axes` is true.", BOOLEANS
)
