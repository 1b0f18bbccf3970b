"""AVERAGE_POOL_2D, L2_POOL_2D, MAX_POOL_2D: one value per window of an image and channel."""

from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import Any, Mapping, Sequence
from nnapi_shim.operations.declare import BoundOperation, Operation, Work, same_as
from nnapi_shim.operations.rules import fused_activation, image_not_empty, known_rank
from nnapi_shim.operations.shapes import in_layout, window
from nnapi_shim.operations.signatures import NO_PADDING, ONE_TO_ONE, rows, windowed


def pooled(op: BoundOperation) -> list[Dimensions]:
    """[batch, out_height, out_width, depth] in the operation's layout."""
    geometry = window(op, op.filter_height, op.filter_width)
    image = (
        geometry.batch,
        geometry.vertical.output,
        geometry.horizontal.output,
        geometry.in_depth,
    )
    return [in_layout(image, op.nchw)]


def pooling(
    type: OperationType,
    doc: str,
    types: Mapping[str, Sequence[Any]] = ONE_TO_ONE,
    work: Work = "window",
) -> Operation:
    """A pooling operation; they differ by their formula and their types."""
    return Operation(
        type,
        doc=doc,
        columns="input -> output",
        types=types,
        forms=windowed(
            "input",
            "stride_width:INT32 stride_height:INT32 filter_width:INT32 filter_height:INT32 "
            "activation:INT32",
            False,
        ),
        defaults={**NO_PADDING, "nchw": False},
        checks=[known_rank(4, "input"), image_not_empty, fused_activation],
        allow_zero_sized=True,
        shape=pooled,
        quantization=same_as("input"),
        work=work,
    )


AVERAGE_POOL_2D = pooling(
    OperationType.AVERAGE_POOL_2D,
    "output[n,y,x,c] = act(sum / count) over the part of the window that lies inside the image.",
)
L2_POOL_2D = pooling(
    OperationType.L2_POOL_2D,
    "output[n,y,x,c] = act(sqrt(sum of squares / count)) over the part of the window that lies "
    "inside the image.",
    rows("T T", f32=1, f16=3),
    work="squares_of_window",
)
MAX_POOL_2D = pooling(
    OperationType.MAX_POOL_2D,
    "output[n,y,x,c] = act(maximum) over the part of the window that lies inside the image.",
)
