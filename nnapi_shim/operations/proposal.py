"""BOX_WITH_NMS_LIMIT and GENERATE_PROPOSALS: the boxes that survive non-maximum suppression.

Their number depends on the data, so the first dimension of every output is unknown.
"""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.operations.boxes import box_parameters, in_eighths
from nnapi_shim.operations.declare import BoundOperation, Operation, form
from nnapi_shim.operations.rules import expect_dimensions
from nnapi_shim.operations.shapes import in_layout, nhwc
from nnapi_shim.operations.signatures import F16, F32, I32, QS8, QU8

FLOAT32, FLOAT16 = OperandType.FLOAT32, OperandType.FLOAT16
QU16, QS16 = OperandType.TENSOR_QUANT16_ASYMM, OperandType.TENSOR_QUANT16_SYMM

NMS_KERNELS = ("hard", "linear", "gaussian")
"""Kernels by which a selected box lowers the scores of overlapping boxes, by code."""


def box_sizes(op: BoundOperation) -> None:
    """Sizes go together; there is a class beside the background, which is the first."""
    expect_dimensions(op, scores=(None, None))
    count, classes = op.scores.dimensions
    expect_dimensions(op, rois=(count, 4 * classes), batch_index=(count,))
    if classes < 2:
        raise op_failed(
            f"scores has {classes} classes; there must be at least 2", "box-with-nms-limit.classes"
        )


def nms_kernel(op: BoundOperation) -> None:
    """The code is one of the three."""
    if not 0 <= op.nms_kernel < len(NMS_KERNELS):
        known = ", ".join(f"{code} ({name})" for code, name in enumerate(NMS_KERNELS))
        raise op_failed(
            f"nms_kernel is {op.nms_kernel}; allowed are {known}", "box-with-nms-limit.nms-kernel"
        )


BOX_REALS = "score_threshold iou_threshold sigma nms_score_threshold"

BOX_WITH_NMS_LIMIT = Operation(
    OperationType.BOX_WITH_NMS_LIMIT,
    doc="For each class the boxes of highest score, each lowering the scores of its neighbours.",
    columns=f"scores rois {BOX_REALS} -> out_scores out_rois out_classes out_batch_index",
    types={
        "f32": (3, F32, F32, *(FLOAT32,) * 4, F32, F32, I32, I32),
        # Differs: the documentation has FLOAT32 scalars here; the reference wants FLOAT16.
        "f16": (3, F16, F16, *(FLOAT16,) * 4, F16, F16, I32, I32),
        "qu8": (3, QU8, QU16, *(FLOAT32,) * 4, QU8, QU16, I32, I32),
        "qs8": (4, QS8, QU16, *(FLOAT32,) * 4, QS8, QU16, I32, I32),
    },
    forms=[
        form(
            "scores rois batch_index:TENSOR_INT32 score_threshold max_num_detections:INT32 "
            "nms_kernel:INT32 iou_threshold sigma nms_score_threshold"
        )
    ],
    checks=[box_sizes, in_eighths("rois"), nms_kernel],
    allow_zero_sized=True,
    data_dependent=True,
    shape=lambda op: [(0,), (0, 4), (0,), (0,)],
    quantization=box_parameters("out_rois", scores_like="scores"),
    work=None,
)


def proposal_sizes(op: BoundOperation) -> None:
    """Sizes go together."""
    expect_dimensions(op, scores=(None,) * 4, deltas=(None,) * 4)
    batches, height, width, anchors = nhwc(op.scores.dimensions, op.nchw)
    deltas = in_layout((batches, height, width, 4 * anchors), op.nchw)
    expect_dimensions(op, deltas=deltas, anchors=(anchors, 4), image_info=(batches, 2))


PROPOSAL_REALS = "height_stride width_stride iou_threshold min_size"

GENERATE_PROPOSALS = Operation(
    OperationType.GENERATE_PROPOSALS,
    doc="Anchors at each point of a feature map, moved and scaled by deltas; the best of them.",
    columns=f"scores deltas anchors image_info {PROPOSAL_REALS} -> "
    "out_scores out_rois out_batch_index",
    # Differs: the documentation has TENSOR_QUANT16_SYMM for image_info, and FLOAT32 scalars beside
    # TENSOR_FLOAT16; the reference wants these.
    types={
        "f32": (3, F32, F32, F32, F32, *(FLOAT32,) * 4, F32, F32, I32),
        "f16": (3, F16, F16, F16, F16, *(FLOAT16,) * 4, F16, F16, I32),
        "qu8": (3, QU8, QU8, QS16, QU16, *(FLOAT32,) * 4, QU8, QU16, I32),
        "qs8": (4, QS8, QS8, QS16, QU16, *(FLOAT32,) * 4, QS8, QU16, I32),
    },
    forms=[
        form(
            "scores deltas anchors image_info height_stride width_stride pre_nms_top_n:INT32 "
            "post_nms_top_n:INT32 iou_threshold min_size nchw:BOOL"
        )
    ],
    # Differs: the reference looks at the scale of boxes beside unsigned scores only.
    checks=[proposal_sizes, in_eighths("anchors", "image_info")],
    data_dependent=True,
    shape=lambda op: [(0,), (0, 4), (0,)],
    quantization=box_parameters("out_rois", scores_like="scores"),
    work=None,
)
