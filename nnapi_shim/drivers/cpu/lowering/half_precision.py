"""float16 weights of matrix-vector products, in models that allow reduced precision.

A matrix-vector product reads each weight once, so memory bandwidth limits it; float16 halves the
bytes. Accumulation is float32.
"""

from nnapi_shim.drivers.cpu.lowering.tiling import tier
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions

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
"""Operations that may be matrix-vector products with constant weights."""
MIN_BYTES = 1 << 20
"""Bytes of the float32 weights of an operation, at least: fewer stay in a cache."""


class Halved:
    """The `value` of operands whose weights may be packed as float16."""

    def reshape(self, dimensions: Dimensions) -> "Halved":
        """The `value` of the same elements with other dimensions."""
        return self


HALVED = Halved()


def can_halve() -> bool:
    """Whether the kernels of this process support float16 weights."""
    return tier().float16
