"""Decompositions of operations on boxes."""

from nnapi_shim.formats.graph.builder import ExportBuilder
from nnapi_shim.formats.graph.rule import RefusedError
from nnapi_shim.formats.graph.tensor import Node, Tensor
from nnapi_shim.hal.enums import OperandType as T


def axis_aligned_bbox_transform(b: ExportBuilder, op: Node) -> None:
    """Move centres by deltas times size, scale sizes by exp(delta), clip to the image."""
    count, width = op.deltas.dimensions
    if not count:
        raise RefusedError("there are no regions")
    classes = width // 4
    rois = b.reshape(op.rois, (count, 1, 4))
    deltas = b.reshape(op.deltas, (count, classes, 4))

    def column(x: Tensor, at: int) -> Tensor:
        return b.slice(x, (0, 0, at), (*x.dimensions[:2], 1))

    info = Tensor(T.TENSOR_FLOAT32, (count, 2))
    b.make("GATHER", info, input=op.image_info, axis=0, indices=op.batch_index)
    limits = b.reshape(info, (count, 1, 2))
    edges = []
    for axis in (0, 1):
        low, high = column(rois, axis), column(rois, axis + 2)
        size = b.sub(high, low)
        centre = b.mul(b.add(low, high), 0.5)
        centre = b.add(centre, b.mul(column(deltas, axis), size))
        half = b.mul(b.mul(b.unary("EXP", column(deltas, axis + 2)), size), 0.5)
        limit = column(limits, 1 - axis)
        for edge in (b.sub(centre, half), b.add(centre, half)):
            edges.append(b.binary("MINIMUM", b.binary("MAXIMUM", edge, 0.0), limit))
    left, right, top, bottom = edges
    b.reshape(b.concatenate([left, top, right, bottom], 2), (count, width), op.boxes)
