"""An NNAPI model under construction: the operands that stand for the tensors of a flat model."""

from collections.abc import Sequence
from typing import Any

from nnapi_shim import Model, OperandType
from nnapi_shim.api.operand import Operand
from tests.trained_models.flat_model import FlatModel, Tensor

OPERAND_TYPES = {
    "FLOAT32": OperandType.TENSOR_FLOAT32,
    "INT32": OperandType.TENSOR_INT32,
    "INT8": OperandType.TENSOR_QUANT8_ASYMM_SIGNED,
    "UINT8": OperandType.TENSOR_QUANT8_ASYMM,
    "BOOL": OperandType.TENSOR_BOOL8,
}
SCALAR_TYPES = {
    bool: OperandType.BOOL,
    int: OperandType.INT32,
    float: OperandType.FLOAT32,
}


class Graph:
    """Operands by the number of their tensor; each is added when it is first asked for."""

    def __init__(self, flat: FlatModel) -> None:
        self.flat = flat
        self.model = Model()
        self._operands: dict[int, Operand] = {}

    def tensor(self, index: int) -> Tensor:
        """What the file says of a tensor."""
        return self.flat.tensors[index]

    def operand(self, index: int) -> Operand:
        """The operand of a tensor, declared as the file has it."""
        if index not in self._operands:
            self._operands[index] = self._declared(self.tensor(index))
        return self._operands[index]

    def define(self, index: int, operand: Operand) -> None:
        """Let an operand stand for a tensor that the file does not describe."""
        self._operands[index] = operand

    def _declared(self, tensor: Tensor) -> Operand:
        shape = tensor.shape or (1,)  # NNAPI has no tensors of rank 0
        value = None if tensor.value is None else tensor.value.reshape(shape)
        per_channel = len(tensor.scales) > 1
        if per_channel and tensor.type == "INT8":
            assert value is not None
            return self.model.constant(value, scales=tensor.scales, channel_dim=tensor.channel_dim)
        type = OPERAND_TYPES[tensor.type]
        # A bias of per-channel sums has the scales of its filter; NNAPI wants 0 there. A file may
        # say of any other tensor that it has a scale, too.
        has_scale = bool(tensor.scales) and not per_channel and tensor.type != "FLOAT32"
        scale = tensor.scales[0] if has_scale else 0.0
        zero_point = tensor.zero_point if has_scale else 0
        if value is not None:
            return self.model.constant(value, type, scale, zero_point)
        if not has_scale and tensor.type in ("INT8", "UINT8"):
            scale = 1.0  # bytes without quantization: NNAPI has no other type for them
        return self.model.add_operand(type, shape, scale, zero_point)

    def temporary(self, like: Tensor, shape: Sequence[int] = (), type: str = "") -> Operand:
        """A new operand like a tensor, with other dimensions or another type."""
        return self._declared(
            like._replace(shape=tuple(shape) or like.shape, type=type or like.type, value=None)
        )

    def add(self, type: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Add an operation.

        inputs, outputs: operands; Python numbers become scalars.
        """
        operands = [self._scalar(i) if not isinstance(i, Operand) else i for i in inputs]
        self.model.add_operation(type, operands, outputs)

    def _scalar(self, value: Any) -> Operand:
        return self.model.constant(value, SCALAR_TYPES[type(value)])
