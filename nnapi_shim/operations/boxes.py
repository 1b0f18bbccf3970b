"""Shared parts of the operations on boxes: quantized boxes are in 1/8 pixel."""

from nnapi_shim.errors import op_failed
from nnapi_shim.operations.declare import BoundOperation, Check, Quantization, declared

EIGHTHS = (0.125, 0)
"""Scale and zero point of every quantized box."""

FLOAT = ("f32", "f16")
"""Variants without quantized numbers."""


def in_eighths(*names: str) -> Check:
    """If quantized, `names` have scale 1/8 and zero point 0.

    Differs: the documentation has zero point -128 for signed scores; the reference requires 0.
    """

    def check(op: BoundOperation) -> None:
        for name in names:
            operand = getattr(op, name)
            parameters = (operand.scale, operand.zero_point)
            if op.variant not in FLOAT and parameters != EIGHTHS:
                raise op_failed(
                    f"{name} has scale and zero point {parameters}; they must be {EIGHTHS}",
                    "boxes.quantization",
                )

    return check


def box_parameters(boxes: str, scores_like: str = "") -> Quantization:
    """`boxes` has scale 1/8 and zero point 0: eighths of a pixel. Others are free."""

    def computed(op: BoundOperation) -> list[tuple[float, int]]:
        level = declared(op)
        for position, name in enumerate(op.match.output_names):
            if name == boxes and op.variant not in FLOAT:
                level[position] = EIGHTHS
            elif name == "out_scores" and scores_like:
                source = getattr(op, scores_like)
                level[position] = (source.scale, source.zero_point)
        return level

    return computed
