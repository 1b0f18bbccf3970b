"""A .tflite file as plain values: the tensors of its only graph, and its operators in order."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tflite
from flatbuffers import flexbuffers

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES = {
    "FLOAT32": np.float32,
    "FLOAT16": np.float16,
    "INT32": np.int32,
    "INT16": np.int16,
    "INT8": np.int8,
    "UINT8": np.uint8,
    "BOOL": np.bool_,
}


class Tensor(NamedTuple):
    """A tensor; `value` is None where it is no constant, `scales` is empty without quantization."""

    type: str
    shape: tuple[int, ...]
    scales: tuple[float, ...]
    zero_point: int
    channel_dim: int
    value: Array | None


class Operator(NamedTuple):
    """An operator: its name (of a custom one, what it calls itself), tensors, options.

    options: a generated class of the schema; a dictionary for a custom operator. An omitted input
    has the index -1.
    """

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Any


class FlatModel(NamedTuple):
    """What a file says."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def _names(enumeration: type) -> dict[int, str]:
    return {code: name for name, code in vars(enumeration).items() if isinstance(code, int)}


TENSOR_TYPES = _names(tflite.TensorType)
OPERATORS = _names(tflite.BuiltinOperator)
OPTIONS = _names(tflite.BuiltinOptions)


def read(path: Path) -> FlatModel:
    """The model in a file."""
    model = tflite.Model.GetRootAsModel(path.read_bytes(), 0)
    assert model.SubgraphsLength() == 1
    graph = model.Subgraphs(0)
    return FlatModel(
        tuple(_tensor(model, graph.Tensors(i)) for i in range(graph.TensorsLength())),
        tuple(_operator(model, graph.Operators(i)) for i in range(graph.OperatorsLength())),
        _integers(graph.InputsAsNumpy()),
        _integers(graph.OutputsAsNumpy()),
    )


def _integers(values: Any) -> tuple[int, ...]:
    # The generated classes give 0 for a vector that is not there.
    return tuple(np.atleast_1d(values).tolist()) if np.ndim(values) else ()


def _tensor(model: Any, tensor: Any) -> Tensor:
    type = TENSOR_TYPES[tensor.Type()]
    shape = _integers(tensor.ShapeAsNumpy())
    quantization = tensor.Quantization()
    scales: tuple[float, ...] = ()
    zero_point = channel_dim = 0
    if quantization is not None and quantization.ScaleLength():
        scales = tuple(quantization.ScaleAsNumpy().tolist())
        zero_point = quantization.ZeroPoint(0)
        channel_dim = quantization.QuantizedDimension()
    data = model.Buffers(tensor.Buffer())
    value = None
    if data is not None and data.DataLength():
        value = data.DataAsNumpy().view(DTYPES[type]).reshape(shape)
    return Tensor(type, shape, scales, zero_point, channel_dim, value)


def _operator(model: Any, operator: Any) -> Operator:
    code = model.OperatorCodes(operator.OpcodeIndex())
    # Old files have the one, new files the other: the larger is the one that is there.
    name = OPERATORS[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
    if name == "CUSTOM":
        name = code.CustomCode().decode()
        options = flexbuffers.Loads(operator.CustomOptionsAsNumpy().tobytes())
    else:
        options = _options(operator)
    return Operator(
        name, _integers(operator.InputsAsNumpy()), _integers(operator.OutputsAsNumpy()), options
    )


def _options(operator: Any) -> Any:
    table = operator.BuiltinOptions()
    if table is None:
        return None
    options = getattr(tflite, OPTIONS[operator.BuiltinOptionsType()])()
    options.Init(table.Bytes, table.Pos)
    return options
