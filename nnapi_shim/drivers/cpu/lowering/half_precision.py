"""Weights that are kept as float16 where a model allows it: where they are read once for one row of
an input, memory decides, and they are half the bytes. Sums are float32 all the same.
"""

from nnapi_shim.drivers.cpu.lowering.tiling import tier
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations.declare import BoundOperand

O = OperationType  # noqa: E741
ON_ONE_ROW = (
    O.FULLY_CONNECTED,
    O.LSTM,
    O.RNN,
    O.UNIDIRECTIONAL_SEQUENCE_LSTM,
    O.BIDIRECTIONAL_SEQUENCE_LSTM,
    O.UNIDIRECTIONAL_SEQUENCE_RNN,
    O.BIDIRECTIONAL_SEQUENCE_RNN,
)
"""Operations that read weights for one row, or for one sequence again and again."""
LEAST_BYTES = 1 << 20
"""Of float32 weights that are read together: fewer stay in a cache, which is as fast."""


class Halved:
    """The `value` that the device gives to operands that may be kept so."""

    def reshape(self, dimensions: Dimensions) -> "Halved":
        """That of the same elements with other dimensions."""
        return self


HALVED = Halved()


def can_halve() -> bool:
    """Whether the kernels of this process know such weights."""
    return tier().float16


def is_halved(weights: BoundOperand, tile_rows: int) -> bool:
    """Whether they are, for a micro-kernel of so many rows."""
    return tile_rows == 1 and weights.value is HALVED
