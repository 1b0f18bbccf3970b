"""Operations that lowerings of several operators add to a model."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.model import Model
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.signature import Input
from nnapi_shim.formats.tflite.importing.reason import reason
from nnapi_shim.hal.enums import FuseCode
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import QUANTIZED_RANGE

NONE = FuseCode.NONE


class Operations:
    """Adds operations to a model. Works on operands, not on tensors of the file."""

    def __init__(self) -> None:
        self.model = Model()

    def make(
        self,
        type: str,
        inputs: Sequence["Input | Model"],
        *,
        output: T | None = None,
        dimensions: Sequence[int] = (),
        scale: float | None = None,
        zero_point: int = 0,
        output_count: int | None = None,
    ) -> Any:
        """Add an operation; returns its output operand, a tuple for several outputs."""
        known = all(not isinstance(i, Operand) or i.is_known or i.is_omitted for i in inputs)
        return self.model.operation(
            type,
            inputs,
            output=output,
            dimensions=None if known else dimensions,
            scale=scale,
            zero_point=zero_point,
            output_count=output_count,
        )

    def real(self, operand: Operand) -> Operand:
        """The operand as TENSOR_FLOAT32."""
        if operand.type is T.TENSOR_FLOAT32:
            return operand
        is_cast = operand.type in (T.TENSOR_FLOAT16, T.TENSOR_INT32)
        result: Operand = self.make(
            "CAST" if is_cast else "DEQUANTIZE",
            [operand],
            output=T.TENSOR_FLOAT32,
            dimensions=operand.dimensions,
        )
        return result

    def requantized(self, operand: Operand, type: T, scale: float, zero_point: int) -> Operand:
        """The operand with these parameters: unchanged, or requantized through float32."""
        same = operand.scale == np.float32(scale) and operand.zero_point == zero_point
        if operand.type is type and (same or type not in QUANTIZED_RANGE):
            return operand
        result: Operand
        real = self.real(operand)
        if type is T.TENSOR_FLOAT32:
            return real
        kind = "CAST" if type not in QUANTIZED_RANGE else "QUANTIZE"
        quantized = kind == "QUANTIZE"
        result = self.make(
            kind,
            [real],
            output=type,
            dimensions=real.dimensions,
            scale=scale if quantized else None,
            zero_point=zero_point,
        )
        return result

    def sizes(self, numbers: Iterable[int]) -> Array:
        """An int32 constant; values are clamped to 32 bits."""
        limits = np.iinfo(np.int32)
        return np.array([min(max(n, limits.min), limits.max) for n in numbers], np.int32)

    def filled(self, shape: Sequence[int], value: float) -> Operand:
        """A tensor filled by FILL: float32 for a float value, else int32."""
        kind = T.TENSOR_FLOAT32 if isinstance(value, float) else T.TENSOR_INT32
        filled: Operand = self.make("FILL", [self.sizes(shape), value], output=kind)
        return filled

    def reshaped(self, operand: Operand, shape: Sequence[int]) -> Operand:
        """A RESHAPE; one size may be -1."""
        shape = tuple(shape) or (1,)
        if operand.dimensions == shape:
            return operand
        if operand.type is T.TENSOR_BOOL8:
            raise reason("NNAPI does not reshape booleans", "import.tflite.bool-reshape")
        sizes = [max(size, 0) for size in shape]
        result: Operand = self.make("RESHAPE", [operand, self.sizes(shape)], dimensions=sizes)
        return result

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
        result: Operand
        if operand.type is T.TENSOR_BOOL8:
            zeros = self.filled(shape, 0)
            none = self.make("LESS", [zeros, zeros])
            result = self.make("LOGICAL_OR", [operand, none])
            return result
        own = (1,) * (len(shape) - len(operand.dimensions)) + operand.dimensions
        multiples = np.array([a // b for a, b in zip(shape, own, strict=True)], np.int32)
        result = self.make("TILE", [self.reshaped(operand, own), multiples])
        return result

    def copy(self, operand: Operand) -> Operand:
        """A new operand with the same contents."""
        result: Operand
        if operand.type is T.TENSOR_BOOL8:
            result = self.make("LOGICAL_OR", [operand, operand])
        elif operand.type is T.TENSOR_QUANT16_SYMM:
            result = self.make("CAST", [operand])
        elif operand.is_known:
            shape = np.array(operand.dimensions, np.int32)
            result = self.make("RESHAPE", [operand, shape])
        else:
            zero = np.array([0], np.int32)
            if operand.type is not T.TENSOR_INT32:
                raise reason(
                    "an input is also an output, and its dimensions are unknown before a run",
                    "import.tflite.dynamic-dimensions",
                )
            result = self.make("ADD", [operand, zero, NONE])
        return result
