"""TensorFlow Lite models of one operation, written with the flatbuffer schema that LiteRT ships."""

from collections.abc import Sequence
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

Operator = schema.BuiltinOperator
TYPES = {
    np.dtype(np.float32): schema.TensorType.FLOAT32,
    np.dtype(np.int8): schema.TensorType.INT8,
    np.dtype(np.int32): schema.TensorType.INT32,
}


class Quantization:
    """Scales (one, or one per index of `dimension`) and zero point of a tensor."""

    def __init__(self, scales: Any, zero_point: int = 0, dimension: int = 0) -> None:
        self.scales = np.atleast_1d(np.asarray(scales, np.float32))
        self.zero_point = zero_point
        self.dimension = dimension

    def table(self) -> Any:
        """As the schema has it."""
        result = schema.QuantizationParametersT()
        result.scale = self.scales
        result.zeroPoint = np.full(self.scales.size, self.zero_point, np.int64)
        result.quantizedDimension = self.dimension
        return result


class Tensor:
    """A tensor of a model; `values` makes it a constant."""

    def __init__(
        self, shape: Sequence[int], dtype: Any, quantization: Quantization | None = None,
        values: Any = None,
    ) -> None:  # fmt: skip
        self.shape, self.dtype = list(shape), np.dtype(dtype)
        self.quantization, self.values = quantization, values


def constant(values: Any, quantization: Quantization | None = None) -> Tensor:
    """A constant tensor."""
    return Tensor(values.shape, values.dtype, quantization, values)


def model(
    operator: int, version: int, inputs: Sequence[Tensor], output: Tensor, options: Any
) -> bytes:
    """A model of one operation; inputs without values are inputs of the model."""
    graph = schema.SubGraphT()
    whole = schema.ModelT()
    whole.version = 3
    whole.buffers = [schema.BufferT()]
    graph.tensors = []
    for number, item in enumerate([*inputs, output]):
        tensor = schema.TensorT()
        tensor.name = f"tensor{number}"
        tensor.shape = item.shape
        tensor.type = TYPES[item.dtype]
        if item.quantization:
            tensor.quantization = item.quantization.table()
        if item.values is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(item.values.tobytes(), np.uint8)
            tensor.buffer = len(whole.buffers)
            whole.buffers.append(buffer)
        graph.tensors.append(tensor)
    graph.inputs = [n for n, item in enumerate(inputs) if item.values is None]
    graph.outputs = [len(inputs)]
    operation = schema.OperatorT()
    operation.inputs = list(range(len(inputs)))
    operation.outputs = [len(inputs)]
    operation.builtinOptionsType = getattr(
        schema.BuiltinOptions, type(options).__name__.removesuffix("T")
    )
    operation.builtinOptions = options
    graph.operators = [operation]
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = operator
    code.version = version
    whole.operatorCodes = [code]
    whole.subgraphs = [graph]
    builder = flatbuffers.Builder(1 << 20)
    builder.Finish(whole.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())
