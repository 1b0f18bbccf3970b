"""The rule of each operation for ONNX."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.formats.graph.builder import ExportBuilder
from nnapi_shim.formats.graph.tensor import Array, Tensor
from nnapi_shim.formats.onnx.exporting import (
    arithmetic,
    control_flow,
    convolution,
    detection,
    moves,
    reductions,
)
from nnapi_shim.formats.onnx.exporting.constants import longs, parameters_of, raw
from nnapi_shim.formats.onnx.exporting.types import INT64, code
from nnapi_shim.hal.enums import OperandType as T

RULES = {
    **arithmetic.RULES,
    **control_flow.RULES,
    **convolution.RULES,
    **detection.RULES,
    **moves.RULES,
    **reductions.RULES,
}
"""Operation -> rule."""


WIDE = (T.TENSOR_QUANT16_ASYMM, T.TENSOR_QUANT16_SYMM)
"""16-bit types, which are expressed as arithmetic: QuantizeLinear has them from opset 21 on, at
which ONNX Runtime 1.31 refuses some models with int8 tensors.
"""


class OnnxBuilder(ExportBuilder):
    """Collects ONNX nodes. Quantized operations are computed in float32 between DequantizeLinear
    and QuantizeLinear; constants stay quantized.
    """

    rules = RULES
    format = "ONNX"
    round = "Round"

    def __init__(self) -> None:
        super().__init__()
        self._constants: dict[int, tuple[Tensor, Tensor]] = {}

    # Conversions

    def cast(self, x: Tensor, out: Tensor) -> Tensor:
        """Emit Cast."""
        self.emit("Cast", [x], [out], to=code(out.type))
        return out

    def dequantize(self, x: Tensor, out: Tensor) -> None:
        """Emit DequantizeLinear, or arithmetic for 16-bit types."""
        if x.type in WIDE:
            self.dequantize_by_arithmetic(x, out)
            return
        if x.value is not None:
            self._constants[id(out)] = (out, x)
        self.emit("DequantizeLinear", [x, *parameters_of(x)], [out])

    def quantize(self, x: Tensor, out: Tensor) -> None:
        """Emit QuantizeLinear, or arithmetic for 16-bit types."""
        if out.type in WIDE:
            self.quantize_by_arithmetic(x, out)
            return
        self.emit("QuantizeLinear", [x, *parameters_of(out)], [out])

    def emit(
        self, kind: str, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], **options: Any
    ) -> None:
        """Add a node; DequantizeLinear of a per-channel tensor gets its axis."""
        if kind == "DequantizeLinear" and inputs[0].channel_quant:  # type: ignore[union-attr]
            options["axis"] = inputs[0].channel_quant.channel_dim  # type: ignore[union-attr]
        super().emit(kind, inputs, outputs, **options)

    def dequantized_bias(self, bias: Tensor, scales: Array) -> Tensor:
        """The bias stays int32 and is dequantized by DequantizeLinear with the given scales."""
        result = bias.like(type=T.TENSOR_FLOAT32)
        scale = raw(scales.astype(np.float32), T.TENSOR_FLOAT32)
        zero = raw(np.zeros(scales.shape, np.int32), T.TENSOR_INT32)
        axis = {"axis": 0} if scales.ndim else {}
        self.emit("DequantizeLinear", [bias, scale, zero], [result], **axis)
        return result

    def transpose(self, x: Tensor, perm: Sequence[int], out: Tensor | None = None) -> Tensor:
        """Transpose; a quantized constant is transposed before it is dequantized."""
        if out is None and id(x) in self._constants:
            _, source = self._constants[id(x)]
            return self.real(super().transpose(source, perm))
        return super().transpose(x, perm, out)

    # Helpers of the rules

    def node(
        self,
        kind: str,
        inputs: Sequence[Tensor | None],
        like: Tensor | None = None,
        sizes: Sequence[int] = (),
        type: Any = None,
        out: Tensor | None = None,
        **options: Any,
    ) -> Tensor:
        """Add a node with one output: `out`, or a new tensor of `sizes` and `type`."""
        if out is None:
            first = inputs[0] if like is None else like
            assert first is not None
            kind_of = first.type if type is None else type
            out = Tensor(kind_of, tuple(sizes) if sizes or like is None else first.dimensions)
        self.emit(kind, inputs, [out], **options)
        return out

    def integers(self, values: Any) -> Tensor:
        """An int64 tensor: a constant, or a Cast of a tensor of the model."""
        if isinstance(values, Tensor):
            return self.node("Cast", [values], like=values, type=INT64, to=code(INT64))
        return longs(values)
