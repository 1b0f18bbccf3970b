"""CAST, QUANTIZE, DEQUANTIZE."""

import numpy as np

from nnapi_shim.formats.importing.operations import require_known
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import DTYPES, Operator
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.plain import Lowering
from nnapi_shim.formats.tflite.importing.tensors import OPERAND_TYPES, real_values
from nnapi_shim.formats.tflite.sparsity import dense
from nnapi_shim.hal.enums import OperandType as T

_NUMBERS = {T.TENSOR_FLOAT32: np.float32, T.TENSOR_INT32: np.int32}


def cast(graph: Importing, operator: Operator) -> None:
    """CAST; NNAPI does not cast booleans, so they are compared and selected."""
    source, target = operator.inputs[0], graph.tensor(operator.outputs[0])
    value = graph.value(source)
    if value is not None and target.type in DTYPES:
        with np.errstate(invalid="ignore"):  # as LiteRT, which reports no invalid values
            graph.fold(target.number, value.astype(DTYPES[target.type]))
        return
    data = graph.operand(source)
    type, scale, zero_point = graph.parameters(target)
    if type is T.TENSOR_BOOL8 and data.type in _NUMBERS:
        graph.add("NOT_EQUAL", [data, np.zeros(1, _NUMBERS[data.type])], operator)
    elif data.type is T.TENSOR_BOOL8 and type in _NUMBERS:
        require_known(data)
        number = float if type is T.TENSOR_FLOAT32 else int
        values = [graph.filled(data.dimensions, number(value)) for value in (1, 0)]
        graph.add("SELECT", [data, *values], operator)
    else:
        parameters = {"scale": scale or None, "zero_point": zero_point}
        sizes = data.dimensions
        result = graph.make("CAST", [data], output=type, dimensions=sizes, **parameters)
        graph.define(target.number, result)


def quantize(graph: Importing, operator: Operator) -> None:
    """QUANTIZE from float32; other quantization parameters go through float32."""
    graph.give(operator, graph.operand(operator.inputs[0]))
    if operator.outputs[0] in graph.wide:
        return
    if graph.operand(operator.outputs[0]) is graph.operand(operator.inputs[0]):
        graph.give(operator, graph.copy(graph.operand(operator.inputs[0])))


def dequantize(graph: Importing, operator: Operator) -> None:
    """DEQUANTIZE; constants, such as 16-bit weights, are converted at import, except large 8-bit
    weights.
    """
    source = operator.inputs[0]
    tensor, value = graph.tensor(source), graph.value(source)
    if value is not None and not tensor.is_sparse:
        if tensor.type not in OPERAND_TYPES:
            raise reason(
                f"{tensor} is {tensor.type}, which NNAPI does not have", "import.tflite.type"
            )
        if graph.stays_stored(operator.outputs[0]):
            graph.give(operator, graph.real(graph.operand(source)))
            return
        graph.fold(operator.outputs[0], real_values(tensor, value).reshape(value.shape))
        return
    graph.give(operator, graph.operand(source))


def densify(graph: Importing, operator: Operator) -> None:
    """DENSIFY of a sparse constant."""
    tensor = graph.tensor(operator.inputs[0])
    if tensor.sparsity is None or tensor.type not in DTYPES:
        raise reason(f"{tensor} is no sparse constant", "import.tflite.densify.not-sparse")
    elements = tensor.sparsity.data.view(DTYPES[tensor.type])
    value = dense(tensor.shape, tensor.sparsity, elements, graph.room)
    graph.fold(operator.outputs[0], value)


LOWERINGS: dict[str, Lowering] = {
    "CAST": cast,
    "DENSIFY": densify,
    "DEQUANTIZE": dequantize,
    "QUANTIZE": quantize,
}
