"""Operations that lowerings of several operators add to a model."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.model import Model
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.signature import Input
from nnapi_shim.formats.importing.allocation import Room
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.hal.enums import FuseCode
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import QUANTIZED_RANGE

NONE = FuseCode.NONE


class Operations:
    """Adds operations to a model. Works on operands, not on tensors of the file."""

    def __init__(self, room: Room) -> None:
        self.model = Model()
        self.room = room
        """The memory budget of the import."""
        self.inputs: set[int] = set()
        """Indices of the operands that are inputs of the model."""
        self._outputs: set[int] = set()

    def several(
        self,
        type: str,
        inputs: Sequence["Input | Model"],
        *,
        dimensions: Sequence[int] = (),
        **output: Any,
    ) -> tuple[Operand, ...]:
        """Add an operation; returns its outputs.

        dimensions: of the outputs, if they cannot be inferred. output: as in Model.operation.
        """
        known = all(not isinstance(i, Operand) or i.is_known or i.is_omitted for i in inputs)
        sizes = None if known else dimensions
        outputs = self.model.operation(type, inputs, dimensions=sizes, **output)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def make(self, type: str, inputs: Sequence["Input | Model"], **output: Any) -> Operand:
        """Add an operation with one output, and return that; output: as in `several`."""
        (result,) = self.several(type, inputs, **output)
        return result

    def real(self, operand: Operand) -> Operand:
        """The operand as TENSOR_FLOAT32."""
        if operand.type is T.TENSOR_FLOAT32:
            return operand
        is_cast = operand.type in (T.TENSOR_FLOAT16, T.TENSOR_INT32)
        return self.make(
            "CAST" if is_cast else "DEQUANTIZE",
            [operand],
            output=T.TENSOR_FLOAT32,
            dimensions=operand.dimensions,
        )

    def requantized(self, operand: Operand, type: T, scale: float, zero_point: int) -> Operand:
        """The operand with these parameters: unchanged, or requantized through float32."""
        same = operand.scale == np.float32(scale) and operand.zero_point == zero_point
        if operand.type is type and (same or type not in QUANTIZED_RANGE):
            return operand
        real = self.real(operand)
        if type is T.TENSOR_FLOAT32:
            return real
        sizes = real.dimensions
        if type not in QUANTIZED_RANGE:
            return self.make("CAST", [real], output=type, dimensions=sizes, zero_point=zero_point)
        parameters = {"scale": scale, "zero_point": zero_point}
        return self.make("QUANTIZE", [real], output=type, dimensions=sizes, **parameters)

    def sizes(self, numbers: Iterable[int]) -> Array:
        """An int32 constant; values are clamped to 32 bits."""
        limits = np.iinfo(np.int32)
        return np.array([min(max(n, limits.min), limits.max) for n in numbers], np.int32)

    def filled(self, shape: Sequence[int], value: float) -> Operand:
        """A tensor filled by FILL: float32 for a float value, else int32."""
        kind = T.TENSOR_FLOAT32 if isinstance(value, float) else T.TENSOR_INT32
        return self.make("FILL", [self.sizes(shape), value], output=kind)

    def reshaped(self, operand: Operand, shape: Sequence[int]) -> Operand:
        """A RESHAPE; one size may be -1."""
        shape = tuple(shape) or (1,)
        if operand.dimensions == shape:
            return operand
        if operand.type is T.TENSOR_BOOL8:
            raise reason("NNAPI does not reshape booleans", "import.tflite.bool-reshape")
        sizes = [max(size, 0) for size in shape]
        return self.make("RESHAPE", [operand, self.sizes(shape)], dimensions=sizes)

    def part(
        self, operand: Operand, begin: Iterable[int], size: Iterable[int], **output: Any
    ) -> Operand:
        """A SLICE; output: as in `several`."""
        return self.make("SLICE", [operand, self.sizes(begin), self.sizes(size)], **output)

    def broadcast(self, operand: Operand, shape: Sequence[int]) -> Operand:
        """The operand broadcast to a shape."""
        shape = tuple(shape)
        if operand.dimensions == shape:
            return operand
        if 0 in shape or 0 in operand.dimensions:
            raise reason(
                "the dimensions to broadcast to are unknown before a run",
                "import.tflite.dynamic-dimensions",
            )
        if operand.type is T.TENSOR_BOOL8:
            zeros = self.filled(shape, 0)
            return self.make("LOGICAL_OR", [operand, self.make("LESS", [zeros, zeros])])
        own = (1,) * (len(shape) - len(operand.dimensions)) + operand.dimensions
        multiples = np.array([a // b for a, b in zip(shape, own, strict=True)], np.int32)
        return self.make("TILE", [self.reshaped(operand, own), multiples])

    def copy(self, operand: Operand) -> Operand:
        """A new operand with the same contents."""
        if operand.type is T.TENSOR_BOOL8:
            return self.make("LOGICAL_OR", [operand, operand])
        if operand.type is T.TENSOR_QUANT16_SYMM:
            return self.make("CAST", [operand])
        if operand.is_known:
            return self.make("RESHAPE", [operand, np.array(operand.dimensions, np.int32)])
        if operand.type is not T.TENSOR_INT32:
            raise reason(
                "an input is also an output, and its dimensions are unknown before a run",
                "import.tflite.dynamic-dimensions",
            )
        return self.make("ADD", [operand, np.zeros(1, np.int32), NONE])

    def own_output(self, operand: Operand) -> Operand:
        """An output of the model: the operand, or a copy if it is an input, a constant or an output
        already.
        """
        is_given = operand.index in self.inputs or operand.value is not None
        if is_given or operand.index in self._outputs:
            operand = self.copy(operand)
        self._outputs.add(operand.index)
        return operand

    def truncated_quotient(self, a: Operand, b: Operand) -> Operand:
        """A quotient of integers rounded to 0: NNAPI's DIV rounds down, so it divides the absolute
        values.
        """
        size = self.make("DIV", [self.make("ABS", [a]), self.make("ABS", [b]), NONE])
        zero = np.zeros(1, np.int32)
        signs = [self.make("LESS", [operand, zero]) for operand in (a, b)]
        negative = self.broadcast(self.make("NOT_EQUAL", signs), size.dimensions)
        return self.make("SELECT", [negative, self.make("NEG", [size]), size])

    def chosen_bool(self, condition: Operand, a: Operand, b: Operand) -> Operand:
        """A where the condition holds, else b; SELECT takes no booleans."""
        if_true = self.make("LOGICAL_AND", [condition, a])
        if_false = self.make("LOGICAL_AND", [self.make("LOGICAL_NOT", [condition]), b])
        return self.make("LOGICAL_OR", [if_true, if_false])


def require_known(*operands: Operand) -> None:
    """Refuse inputs of which a dimension is unknown before a run."""
    if not all(operand.is_known for operand in operands):
        what = "its input" if len(operands) == 1 else "its inputs"
        raise reason(
            f"the dimensions of {what} are unknown before a run", "import.tflite.dynamic-dimensions"
        )
