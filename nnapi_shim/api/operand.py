"""Operand: an operand of a Model in the Python API."""

from typing import Any

from nnapi_shim.api.html import escaped
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import Dimensions, SymmPerChannelQuantParams, is_known
from nnapi_shim.log import one_line


class Operand:
    """An operand of a Model, accepted wherever its index is.

    name: its name in the program, or "".
    dimensions: () for scalars and for tensors of unknown rank; 0 for an unknown size.
    value: the array of a constant until its model is finished; None for other operands.
    is_omitted: whether it represents an omitted input.
    """

    __slots__ = (
        "channel_quant",
        "dimensions",
        "index",
        "is_omitted",
        "name",
        "scale",
        "type",
        "value",
        "zero_point",
    )

    def __init__(
        self,
        index: int,
        type: OperandType,
        dimensions: Dimensions = (),
        scale: float = 0.0,
        zero_point: int = 0,
    ) -> None:
        self.index = index
        self.name = ""
        self.type = type
        self.dimensions = dimensions
        self.scale = scale
        self.zero_point = zero_point
        self.channel_quant: SymmPerChannelQuantParams | None = None
        self.value: Any = None
        self.is_omitted = False

    def __index__(self) -> int:
        return self.index

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"<operand {self.index}{name} {self}>"

    def __str__(self) -> str:
        if self.type in SCALARS:
            return self.type.name
        return f"{self.type.name}{list(self.dimensions) or '[of unknown rank]'}"

    def _repr_html_(self) -> str:
        """One line of HTML, for notebooks."""
        return f"<p>{escaped(one_line(repr(self)[1:-1]))}</p>"

    @property
    def is_known(self) -> bool:
        """Whether all dimensions are known; always True for scalars."""
        return is_known(self.type, self.dimensions)
