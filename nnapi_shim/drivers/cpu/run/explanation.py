"""Error messages of kernels: searches the arguments of a failed step for the illegal value."""

from struct import iter_unpack, unpack

from nnapi_shim import address
from nnapi_shim.drivers.cpu.program.program import STEP_BYTES, Frame
from nnapi_shim.drivers.cpu.program.record import Record, record
from nnapi_shim.errors import NnapiError
from nnapi_shim.hints import Any, Iterator
from nnapi_shim.operations.faults import box_reversed, index_outside, roi_outside, score_is_nan


def explanation(kernel: str, frame: Frame, step: int) -> NnapiError | None:
    """The error for the illegal value that a step met; None for other kernels."""
    if kernel == "gather":
        from nnapi_shim.drivers.cpu.lowering.lookup import GATHER

        fields = _fields(frame, step, GATHER)
        return _outside("indices", fields["indices"], fields["count"], fields["size"])
    if kernel == "gathered_sum_f32":
        from nnapi_shim.drivers.cpu.lowering.gathered_sum import GATHERED_SUM

        fields = _fields(frame, step, GATHERED_SUM)
        count = fields["groups"] * fields["length"]
        return _outside("indices", fields["indices"], count, fields["size"])
    if kernel.startswith(("roi_align", "roi_pool")):
        from nnapi_shim.drivers.cpu.lowering.roi import ROIS

        fields = _fields(frame, step, record(**ROIS))  # the common leading fields
        error = _batch_index(fields) or _box_reversed("rois", fields["rois"], fields["count"])
        return error or _roi_outside(fields)
    if kernel == "bbox_transform":
        from nnapi_shim.drivers.cpu.lowering.detection import BBOX_TRANSFORM

        fields = _fields(frame, step, BBOX_TRANSFORM)
        return _batch_index(fields) or _box_reversed("rois", fields["rois"], fields["count"])
    if kernel == "soft_nms":
        from nnapi_shim.drivers.cpu.lowering.proposal import SOFT_NMS

        fields = _fields(frame, step, SOFT_NMS)
        return _box_reversed("rois", fields["boxes"], fields["rois"] * fields["classes"])
    if kernel == "max_keypoints":
        from nnapi_shim.drivers.cpu.lowering.detection import KEYPOINTS

        boxes = _fields(frame, step, KEYPOINTS)["boxes"]
        return _box_reversed("boxes", boxes, _tiles(frame, step))  # a tile is a box
    if kernel == "generate_proposals":
        from nnapi_shim.drivers.cpu.lowering.proposal import PROPOSALS

        fields = _fields(frame, step, PROPOSALS)
        images = _tiles(frame, step)
        error = _nan(fields["scores"], images * fields["capacity"])
        return error or _box_reversed("anchors", fields["anchors"], fields["count"])
    return None


def _tiles(frame: Frame, step: int) -> int:
    """The number of tiles of a step."""
    (tiles,) = unpack("<q", address.read(frame.words + STEP_BYTES * step + 16, 8))
    return int(tiles)


def _fields(frame: Frame, step: int, record: Record) -> dict[str, Any]:
    """The arguments of a step by field name, with the addresses of this run."""
    (block,) = unpack("<q", address.read(frame.words + STEP_BYTES * step + 8, 8))
    values = record.layout.unpack(address.read(block, 8 * record.words))
    return dict(zip(record.fields, values, strict=True))


def _outside(name: str, where: int, count: int, size: int) -> NnapiError | None:
    for at, index in enumerate(address.words(where, "int32_t", count)):
        if not 0 <= index < size:
            return index_outside(name, at, index, size)
    return None


def _nan(where: int, count: int) -> NnapiError | None:
    for at, (score,) in enumerate(iter_unpack("<f", address.read(where, 4 * count))):
        if score != score:
            return score_is_nan(at)
    return None


def _batch_index(fields: dict[str, Any]) -> NnapiError | None:
    return _outside("batch_index", fields["batch_index"], fields["count"], fields["batches"])


def _box_reversed(name: str, where: int, count: int) -> NnapiError | None:
    for at, (x1, y1, x2, y2) in enumerate(_boxes(where, count)):
        if not (x1 <= x2 and y1 <= y2):
            return box_reversed(name, at, (x1, y1, x2, y2))
    return None


def _roi_outside(fields: dict[str, Any]) -> NnapiError | None:
    height, width = fields["height"], fields["width"]
    down, across = fields["height_stride"], fields["width_stride"]
    for at, (x1, y1, x2, y2) in enumerate(_boxes(fields["rois"], fields["count"])):
        if not (x1 >= 0 and y1 >= 0 and x2 / across <= width and y2 / down <= height):
            return roi_outside(at, (x1, y1, x2, y2), (height, width), (down, across))
    return None


def _boxes(where: int, count: int) -> Iterator[tuple[float, ...]]:
    """Boxes of four float32 numbers at an address."""
    return iter_unpack("<4f", address.read(where, 16 * count) if count else b"")
