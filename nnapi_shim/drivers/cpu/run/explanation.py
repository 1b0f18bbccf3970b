"""What a kernel met that it refused: found again in its arguments, for the message."""

from collections.abc import Iterator
from struct import iter_unpack, unpack

from nnapi_shim import address
from nnapi_shim.drivers.cpu.program.program import STEP_BYTES, Frame
from nnapi_shim.drivers.cpu.program.record import Record, record
from nnapi_shim.errors import NnapiError
from nnapi_shim.hints import Any
from nnapi_shim.operations.faults import box_reversed, index_outside, roi_outside, score_is_nan


def explanation(kernel: str, frame: Frame, step: int) -> NnapiError | None:
    """What was wrong with the values that a step met; None where nobody looks for it."""
    if kernel == "gather":
        from nnapi_shim.drivers.cpu.lowering.lookup import GATHER

        given = _fields(frame, step, GATHER)
        return _outside("indices", given["indices"], given["count"], given["size"])
    if kernel.startswith(("roi_align", "roi_pool")):
        from nnapi_shim.drivers.cpu.lowering.roi import ROIS

        given = _fields(frame, step, record(**ROIS))  # what both have in front
        found = _batch_index(given) or _box_reversed("rois", given["rois"], given["count"])
        return found or _roi_outside(given)
    if kernel == "bbox_transform":
        from nnapi_shim.drivers.cpu.lowering.detection import BBOX_TRANSFORM

        given = _fields(frame, step, BBOX_TRANSFORM)
        return _batch_index(given) or _box_reversed("rois", given["rois"], given["count"])
    if kernel == "soft_nms":
        from nnapi_shim.drivers.cpu.lowering.proposal import SOFT_NMS

        given = _fields(frame, step, SOFT_NMS)
        return _box_reversed("rois", given["boxes"], given["rois"] * given["classes"])
    if kernel == "max_keypoints":
        from nnapi_shim.drivers.cpu.lowering.detection import KEYPOINTS

        boxes = _fields(frame, step, KEYPOINTS)["boxes"]
        return _box_reversed("boxes", boxes, _tiles(frame, step))  # a tile is a box
    if kernel == "generate_proposals":
        from nnapi_shim.drivers.cpu.lowering.proposal import PROPOSALS

        given = _fields(frame, step, PROPOSALS)
        images = _tiles(frame, step)
        found = _nan(given["scores"], images * given["capacity"])
        return found or _box_reversed("anchors", given["anchors"], given["count"])
    return None


def _tiles(frame: Frame, step: int) -> int:
    """How many tiles a step has."""
    (tiles,) = unpack("<q", address.read(frame.words + STEP_BYTES * step + 16, 8))
    return int(tiles)


def _fields(frame: Frame, step: int, layout: Record) -> dict[str, Any]:
    """The arguments of a step, by the names of its record; addresses are those of this run."""
    (block,) = unpack("<q", address.read(frame.words + STEP_BYTES * step + 8, 8))
    return dict(
        zip(layout.fields, layout.unpack(address.read(block, 8 * layout.words)), strict=True)
    )


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
