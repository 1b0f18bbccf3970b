"""An operand as reports have it."""

from dataclasses import dataclass

from nnapi_shim.api.view import OperandView
from nnapi_shim.hal.types import byte_size, is_known


@dataclass(frozen=True)
class OperandInfo:
    """An operand. dimensions: a 0 is an unknown one. bytes: None where a run decides them."""

    index: int
    name: str
    type: str
    dimensions: tuple[int, ...]
    bytes: int | None


def operand_info(operand: OperandView) -> OperandInfo:
    """An operand as reports have it."""
    kind = operand.type
    known = hasattr(kind, "name") and is_known(kind, operand.dimensions)
    size = None
    if known and not operand.is_omitted and kind.name != "MODEL":
        try:
            size = byte_size(operand)
        except KeyError:  # of an extension
            size = None
    return OperandInfo(
        operand.index,
        operand.name,
        getattr(kind, "name", str(int(kind))),
        tuple(operand.dimensions),
        size,
    )
