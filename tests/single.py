"""Models of a single operation, built from literals and run on a device through the HAL interface.

    execute(device, OperationType.ADD, [f32([1, 2]), f32([10]), 0], [f32()])

Tensors come from the functions named like the variants; a plain int, float or bool is a constant
INT32, FLOAT32 or BOOL.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.hal.enums import (
    ErrorStatus,
    ExecutionPreference,
    OperandLifeTime,
    OperandType,
    OperationType,
    Priority,
)
from nnapi_shim.hal.quantization import ASYMMETRIC, SCALARS, STRUCT_CODES, SYMMETRIC
from nnapi_shim.hal.types import (
    DataLocation,
    Dimensions,
    Model,
    Operand,
    Operation,
    Request,
    RequestArgument,
    Subgraph,
    SymmPerChannelQuantParams,
)

BUFFER_BYTES = 1 << 16
"""Size of the buffer of every output, unless a test asks for more."""

UNTOUCHED = 0xA5


class Value(NamedTuple):
    """An operand and, unless it is an output, its contents."""

    operand: Operand
    array: Any = None
    is_omitted: bool = False


def tensor(
    type: OperandType,
    values: Any = None,
    scale: float = 0.0,
    zero_point: int = 0,
    channel_quant: SymmPerChannelQuantParams | None = None,
) -> Value:
    """An operand with contents; without values, an output of unknown rank."""
    array = None if values is None else np.array(values, STRUCT_CODES[type])
    dimensions: Dimensions = () if array is None else array.shape
    operand = Operand(
        type, dimensions, float(np.float32(scale)), zero_point, channel_quant=channel_quant
    )
    return Value(operand, array)


def f32(values: Any = None) -> Value:
    """TENSOR_FLOAT32."""
    return tensor(OperandType.TENSOR_FLOAT32, values)


def f16(values: Any = None) -> Value:
    """TENSOR_FLOAT16."""
    return tensor(OperandType.TENSOR_FLOAT16, values)


def i32(values: Any = None, scale: float = 0.0) -> Value:
    """TENSOR_INT32; the scale is that of a bias."""
    return tensor(OperandType.TENSOR_INT32, values, scale)


def qu8(values: Any = None, scale: float = 1.0, zero_point: int = 0) -> Value:
    """TENSOR_QUANT8_ASYMM, of raw values."""
    return tensor(OperandType.TENSOR_QUANT8_ASYMM, values, scale, zero_point)


def qs8(values: Any = None, scale: float = 1.0, zero_point: int = 0) -> Value:
    """TENSOR_QUANT8_ASYMM_SIGNED, of raw values."""
    return tensor(OperandType.TENSOR_QUANT8_ASYMM_SIGNED, values, scale, zero_point)


def qsym8(values: Any = None, scale: float = 1.0) -> Value:
    """TENSOR_QUANT8_SYMM, of raw values."""
    return tensor(OperandType.TENSOR_QUANT8_SYMM, values, scale)


def qc8(values: Any, scales: Sequence[float], dim: int) -> Value:
    """TENSOR_QUANT8_SYMM_PER_CHANNEL, of raw values."""
    quant = SymmPerChannelQuantParams(tuple(float(np.float32(s)) for s in scales), dim)
    return tensor(OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL, values, channel_quant=quant)


def scalar(type: OperandType, value: Any) -> Value:
    """A scalar operand."""
    return Value(Operand(type), np.array(value, STRUCT_CODES[type]))


def omitted(type: OperandType) -> Value:
    """An optional input that is not given; SQUEEZE looks at its rank."""
    scale = float(type in ASYMMETRIC or type in SYMMETRIC)  # these must have one
    return Value(Operand(type, () if type in SCALARS else (0,), scale), is_omitted=True)


def bool8(values: Any = None) -> Value:
    """TENSOR_BOOL8."""
    return tensor(OperandType.TENSOR_BOOL8, values)


def q16(values: Any = None, scale: float = 1.0, zero_point: int = 0) -> Value:
    """TENSOR_QUANT16_ASYMM, of raw values."""
    return tensor(OperandType.TENSOR_QUANT16_ASYMM, values, scale, zero_point)


def qsym16(values: Any = None, scale: float = 1.0) -> Value:
    """TENSOR_QUANT16_SYMM, of raw values."""
    return tensor(OperandType.TENSOR_QUANT16_SYMM, values, scale)


def valued(arguments: Any) -> Value:
    """A Value as it is; a number as the scalar that its Python type suggests."""
    if isinstance(arguments, Value):
        return arguments
    if isinstance(arguments, bool):
        return scalar(OperandType.BOOL, arguments)
    if isinstance(arguments, float):
        return scalar(OperandType.FLOAT32, arguments)
    return scalar(OperandType.INT32, arguments)


INPUT, CONSTANT, TEMPORARY = "input", "constant", "temporary"

NOT_RESHAPED = (
    OperandType.TENSOR_BOOL8,
    OperandType.TENSOR_QUANT8_SYMM,
    OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL,
    OperandType.TENSOR_QUANT16_ASYMM,
    OperandType.TENSOR_QUANT16_SYMM,
    OperandType.FLOAT16,
    OperandType.FLOAT32,
    OperandType.INT32,
    OperandType.BOOL,
)
"""Types that no RESHAPE can copy."""

RESHAPED_RANK = 4
"""Largest rank that a RESHAPE takes; it gives any."""


class Built(NamedTuple):
    """A model, and what its inputs are to hold."""

    model: Model
    inputs: list[Any]


def build(
    type: OperationType,
    inputs: Sequence[Any],
    outputs: Sequence[Value],
    tensors_are: str = INPUT,
    scalars_are: str = CONSTANT,
    first_is: str = "",
) -> Built:
    """A model of one operation.

    tensors_are, scalars_are, first_is (the first input, where that is something else): INPUT of
    the model, CONSTANT, or TEMPORARY: the output of a RESHAPE that copies an input of the model.
    Types that RESHAPE does not take are constants then.
    """
    operands: list[Operand] = []
    operations: list[Operation] = []
    constants = bytearray()
    arrays = []

    def add(operand: Operand, lifetime: OperandLifeTime) -> int:
        operands.append(operand._replace(lifetime=lifetime))
        return len(operands) - 1

    def constant(value: Value) -> int:
        constants.extend(bytes(-len(constants) % 64))
        data = value.array.tobytes()
        place = DataLocation(0, len(constants), len(data))
        constants.extend(data)
        return add(value.operand._replace(location=place), OperandLifeTime.CONSTANT_COPY)

    def argument(value: Value) -> int:
        arrays.append(value.array)
        return add(value.operand, OperandLifeTime.SUBGRAPH_INPUT)

    def temporary(value: Value) -> int:
        shape = constant(i32(value.operand.dimensions))
        copy = add(value.operand, OperandLifeTime.TEMPORARY_VARIABLE)
        if value.array.ndim > RESHAPED_RANK:
            flat = value.operand._replace(dimensions=(value.array.size,))
            value = value._replace(operand=flat, array=value.array.ravel())
        operations.append(Operation(OperationType.RESHAPE, (argument(value), shape), (copy,)))
        return copy

    indexes = []
    for position, arguments in enumerate(map(valued, inputs)):
        if arguments.is_omitted:
            indexes.append(add(arguments.operand, OperandLifeTime.NO_VALUE))
            continue
        kind = tensors_are if arguments.operand.dimensions else scalars_are
        if position == 0 and first_is:
            kind = first_is
        if kind == TEMPORARY and arguments.operand.type in NOT_RESHAPED:
            kind = CONSTANT
        indexes.append({INPUT: argument, CONSTANT: constant, TEMPORARY: temporary}[kind](arguments))
    results = [add(output.operand, OperandLifeTime.SUBGRAPH_OUTPUT) for output in outputs]
    operations.append(Operation(type, tuple(indexes), tuple(results), len(operations)))
    sources = [i for i, o in enumerate(operands) if o.lifetime is OperandLifeTime.SUBGRAPH_INPUT]
    graph = Subgraph(tuple(operands), tuple(operations), tuple(sources), tuple(results))
    return Built(Model(graph, operand_values=bytes(constants)), arrays)


def execute(
    device: Any,
    type: OperationType,
    inputs: Sequence[Any],
    outputs: Sequence[Value],
    tensors_are: str = INPUT,
    scalars_are: str = CONSTANT,
    first_is: str = "",
    buffer_bytes: int = BUFFER_BYTES,
) -> list[Any]:
    """The outputs of one operation; raises what the device raises."""
    built = build(type, inputs, outputs, tensors_are, scalars_are, first_is)
    return run(device, built, buffer_bytes)


def run(device: Any, built: Built, buffer_bytes: int = BUFFER_BYTES) -> list[Any]:
    """The outputs of a model, computed twice: both runs agree and leave the inputs alone."""
    prepared = device.prepareModel(
        built.model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
    )
    graph = built.model.main
    sources = [np.array(array) for array in built.inputs]
    targets = [np.empty(buffer_bytes, np.uint8) for _ in graph.output_indexes]
    request = Request(
        tuple(RequestArgument(a.ctypes.data, a.nbytes, a.shape) for a in sources),
        tuple(
            RequestArgument(target.ctypes.data, target.nbytes, graph.operands[index].dimensions)
            for index, target in zip(graph.output_indexes, targets, strict=True)
        ),
    )
    execution = prepared.createReusableExecution(request, False, 0)
    first = _outputs(execution, graph, targets)
    second = _outputs(execution, graph, targets)
    for a, b in zip(first, second, strict=True):
        _require_equal(a, b)
    for before, after in zip(built.inputs, sources, strict=True):
        _require_equal(before, after)
    return first


def _require_equal(one: Any, other: Any) -> None:
    """Bytes are compared first, which takes a tenth of the time."""
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or one.tobytes() != other.tobytes():
        np.testing.assert_array_equal(one, other)


def _outputs(execution: Any, graph: Subgraph, targets: Sequence[Any]) -> list[Any]:
    for target in targets:
        target.fill(UNTOUCHED)
    result = execution.compute(None)
    assert result.status is ErrorStatus.NONE
    arrays = []
    for index, target, shape in zip(
        graph.output_indexes, targets, result.output_shapes, strict=True
    ):
        dtype = np.dtype(STRUCT_CODES[graph.operands[index].type])
        length = int(np.prod(shape.dimensions)) * dtype.itemsize
        assert (target[length:] == UNTOUCHED).all(), "written past the end of an output"
        arrays.append(target[:length].view(dtype).reshape(shape.dimensions).copy())
    return arrays
