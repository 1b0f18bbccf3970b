"""ROI_ALIGN and ROI_POOLING: resample regions of interest of a feature map to one size."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import Any, Sequence
from nnapi_shim.operations.boxes import in_eighths
from nnapi_shim.operations.declare import BoundOperation, Check, Operation, form, same_as
from nnapi_shim.operations.rules import expect_dimensions, no_empty_dimension, positive, read_as
from nnapi_shim.operations.shapes import in_layout, nhwc
from nnapi_shim.operations.signatures import F16, F32, QS8, QU8

FLOAT32, FLOAT16 = OperandType.FLOAT32, OperandType.FLOAT16
QU16 = OperandType.TENSOR_QUANT16_ASYMM


def roi_sizes(op: BoundOperation) -> None:
    """Each roi has 4 coordinates and an image index; indices may have further sizes of 1."""
    expect_dimensions(op, input=(None,) * 4, rois=(None, 4))
    count = op.rois.dimensions[0]
    if op.batch_index.dimensions[:1] == (count,):
        read_as(op, "batch_index", (count,))
    expect_dimensions(op, batch_index=(count,))


def sampling(op: BoundOperation) -> None:
    """Numbers of samples are at least 0; 0 means one per point of a bin."""
    for name in ("height_sampling_ratio", "width_sampling_ratio"):
        if getattr(op, name) < 0:
            raise op_failed(
                f"{name} is {getattr(op, name)}; it must be at least 0", "roi-align.sampling-ratio"
            )


def roi_shape(op: BoundOperation) -> list[Dimensions]:
    """An image of the output size for each roi, with the depth of the input."""
    depth = nhwc(op.input.dimensions, op.nchw)[3]
    image = (op.rois.dimensions[0], op.out_height, op.out_width, depth)
    return [in_layout(image, op.nchw)]


def roi_operation(
    type: OperationType, ratios: str = "", checks: Sequence[Check] = (), **more: Any
) -> Operation:
    """A declaration of either operation; only ROI_ALIGN has numbers of samples, `ratios`."""
    return Operation(
        type,
        columns="input rois height_stride width_stride -> output",
        # Differs: the documentation has FLOAT32 strides everywhere; the reference wants FLOAT16
        # beside TENSOR_FLOAT16.
        types={
            "f32": (3, F32, F32, FLOAT32, FLOAT32, F32),
            "f16": (3, F16, F16, FLOAT16, FLOAT16, F16),
            "qu8": (3, QU8, QU16, FLOAT32, FLOAT32, QU8),
            "qs8": (4, QS8, QU16, FLOAT32, FLOAT32, QS8),
        },
        forms=[
            form(
                "input rois batch_index:TENSOR_INT32 out_height:INT32 out_width:INT32 "
                f"height_stride width_stride {ratios} nchw:BOOL"
            )
        ],
        checks=[
            roi_sizes,
            no_empty_dimension("input"),
            in_eighths("rois"),
            positive("out_height", "out_width", "height_stride", "width_stride"),
            *checks,
        ],
        shape=roi_shape,
        **more,
    )


ROI_ALIGN = roi_operation(
    OperationType.ROI_ALIGN,
    ratios="height_sampling_ratio:INT32 width_sampling_ratio:INT32",
    checks=[sampling],
    work="samples",
    doc="Each roi cut into bins, and the mean of bilinear samples of each bin.",
    allow_zero_sized=True,
)

ROI_POOLING = roi_operation(
    OperationType.ROI_POOLING,
    doc="Each roi, its corners rounded, cut into bins, and the maximum of each bin.",
    quantization=same_as("input"),
    work=None,
)
