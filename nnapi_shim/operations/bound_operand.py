"""A tensor of an operation, for rules, shape functions and devices."""

from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.types import Dimensions, SymmPerChannelQuantParams
from nnapi_shim.hints import Any


class BoundOperand:
    """A tensor of an operation during validation, lowering or computation.

    While a model is built, `dimensions` may be unknown (() or with a 0), and `channel_quant` unset;
    later they are resolved for the run. `is_omitted`: the operand has no value. `value` is for the
    device: the reference device stores an array.
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
        """A copy that can be changed independently."""
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
        """A copy with other dimensions and the same elements."""
        other = self.copy()
        other.dimensions = dimensions
        if self.value is not None:
            other.value = self.value.reshape(dimensions)
        return other

    def __repr__(self) -> str:
        return f"<operand {self.index} {self.type.name}{list(self.dimensions)}>"
