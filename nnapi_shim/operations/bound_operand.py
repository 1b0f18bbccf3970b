"""A tensor of an operation, as rules, shapes and devices see it."""

from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.types import Dimensions, SymmPerChannelQuantParams
from nnapi_shim.hints import Any


class BoundOperand:
    """A tensor of an operation that is being checked, lowered or computed.

    While a model is built, `dimensions` may be unknown (() or with a 0), `channel_quant` unset, and
    `is_omitted` says that the operand has no value; later they are what this run resolved. `value`
    belongs to the device: the reference device keeps an array in it.
    """

    __slots__ = (
        "channel_quant",
        "dimensions",
        "index",
        "is_model_output",
        "is_omitted",
        "scale",
        "type",
        "value",
        "zero_point",
    )

    def __init__(
        self,
        index: int,
        type: OperandType,
        dimensions: Dimensions,
        scale: float = 0.0,
        zero_point: int = 0,
        channel_quant: SymmPerChannelQuantParams | None = None,
        is_model_output: bool = False,
    ) -> None:
        self.index = index
        self.type = type
        self.dimensions = dimensions
        self.scale = scale
        self.zero_point = zero_point
        self.channel_quant = channel_quant
        self.is_model_output = is_model_output
        self.is_omitted = False
        self.value: Any = None

    def copy(self) -> "BoundOperand":
        """The same operand, to be changed on its own."""
        other = BoundOperand(
            self.index,
            self.type,
            self.dimensions,
            self.scale,
            self.zero_point,
            self.channel_quant,
            self.is_model_output,
        )
        other.is_omitted = self.is_omitted
        return other

    def viewed(self, dimensions: Dimensions) -> "BoundOperand":
        """The same elements, for one operation, with other dimensions."""
        other = self.copy()
        other.dimensions = dimensions
        if self.value is not None:
            other.value = self.value.reshape(dimensions)
        return other

    def __repr__(self) -> str:
        return f"<operand {self.index} {self.type.name}{list(self.dimensions)}>"
