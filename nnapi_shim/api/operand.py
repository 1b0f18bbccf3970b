"""Operand: what the Python face knows of an operand of a model."""

from html import escape
from typing import Any

from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import Dimensions, SymmPerChannelQuantParams, is_known
from nnapi_shim.log import one_line


class Operand:
    """An operand of a Model, usable wherever its index is.

    name: what the program calls it, or "".
    dimensions: () for scalars and for tensors of unknown rank; a 0 in it is an unknown dimension.
    value: the array of a constant until its model is finished; None for other operands.
    is_omitted: whether it stands for an input that is left out.
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
        """A line of HTML, as notebooks show it."""
        return f"<p>{escape(one_line(repr(self)[1:-1]))}</p>"

    @property
    def is_known(self) -> bool:
        """Whether all dimensions are known; a scalar's always are."""
        return is_known(self.type, self.dimensions)
