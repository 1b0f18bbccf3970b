"""Tensors of a graph during its import."""

from typing import NamedTuple

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.operand import Operand
from nnapi_shim.hal.enums import OperandType as T

OPERAND_TYPES = {
    "FLOAT": T.TENSOR_FLOAT32,
    "FLOAT16": T.TENSOR_FLOAT16,
    "INT32": T.TENSOR_INT32,
    "INT64": T.TENSOR_INT32,
    "UINT8": T.TENSOR_QUANT8_ASYMM,
    "INT8": T.TENSOR_QUANT8_ASYMM_SIGNED,
    "BOOL": T.TENSOR_BOOL8,
}
"""Element type -> operand type; NNAPI has no others."""

FLOATS = ("FLOAT", "FLOAT16")
BYTES = ("UINT8", "INT8")

LAST = (0, 2, 3, 1)
"""The permutation to the order of NNAPI's images: batch, height, width, channels."""
FIRST = (0, 3, 1, 2)
"""And back."""


class Value(NamedTuple):
    """A tensor: a constant, or an operand of the model.

    type: element type. shape: dimensions in the graph. operand: its dimensions are those of the
    graph, [1] for rank 0; of higher rank than 4, any with as many elements. is_last: whether the
    operand has the channels, dimension 1 of 4, last.
    """

    name: str
    type: str
    shape: tuple[int, ...]
    array: Array | None = None
    operand: Operand | None = None
    is_last: bool = False

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


def picked(shape: tuple[int, ...], perm: tuple[int, ...]) -> tuple[int, ...]:
    """Permuted dimensions."""
    return tuple(shape[axis] for axis in perm)
