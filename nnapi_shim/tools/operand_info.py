"""Operands in reports."""

from dataclasses import dataclass

from nnapi_shim.api.view import OperandView
from nnapi_shim.hal.types import byte_size, is_known


@dataclass(frozen=True)
class OperandInfo:
    """An operand. dimensions: 0 is unknown. bytes: None if only a run determines the size."""

    index: int
    name: str
    type: str
    dimensions: tuple[int, ...]
    bytes: int | None


def operand_info(operand: OperandView) -> OperandInfo:
    """The report entry of an operand."""
    kind = operand.type
    known = hasattr(kind, "name") and is_known(kind, operand.dimensions)
    size = None
    if known and not operand.is_omitted and kind.name != "MODEL":
        try:
            size = byte_size(operand)
        except KeyError:  # an extension type
            size = None
    return OperandInfo(
        operand.index,
        operand.name,
        getattr(kind, "name", str(int(kind))),
        tuple(operand.dimensions),
        size,
    )
