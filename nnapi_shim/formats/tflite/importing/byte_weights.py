"""8-bit weights of float operators: which matrices a model keeps as they are stored.

A model with many of them keeps them behind a DEQUANTIZE, so that it takes a quarter of the memory,
and a device may compute with the bytes. Few become float32 at import.
"""

from nnapi_shim.formats.tflite.file import FileGraph, Operator, Tensor

MIN_WEIGHTS = 1 << 16
"""Elements of all such matrices of a graph, at least."""

OPERATORS = (
    "BIDIRECTIONAL_SEQUENCE_LSTM",
    "BIDIRECTIONAL_SEQUENCE_RNN",
    "FULLY_CONNECTED",
    "LSTM",
    "RNN",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "UNIDIRECTIONAL_SEQUENCE_RNN",
)
_ZERO_POINTS = {"INT4": 0, "INT8": 0, "UINT8": 128}


def stored_matrices(graph: FileGraph) -> frozenset[int | None]:
    """The constants that stay as they are stored, and the results of DEQUANTIZE of such constants:
    numbers of tensors.
    """
    sources = _dequantized(graph)
    numbers: set[int | None] = set()
    total = 0
    for operator in graph.operators:
        if _is_product(operator):
            for index in operator.inputs[1:]:
                tensor = None if index is None else graph.tensors[sources.get(index, index)]
                if tensor is not None and index not in numbers and _is_matrix(tensor):
                    numbers.add(index)
                    total += tensor.shape[0] * tensor.shape[1]
    return frozenset(numbers) if total >= MIN_WEIGHTS else frozenset()


def _is_product(operator: Operator) -> bool:
    """Whether an operator takes dequantized weights; the basic LSTM takes its weights apart."""
    is_basic = operator.name == "LSTM" and operator.options.get("KernelType", 0)
    return operator.name in OPERATORS and not is_basic


def _dequantized(graph: FileGraph) -> dict[int | None, int]:
    """Output -> input of each DEQUANTIZE whose output only products read."""
    sources: dict[int | None, int] = {
        operator.outputs[0]: operator.inputs[0]
        for operator in graph.operators
        if operator.name == "DEQUANTIZE" and operator.inputs[0] is not None
    }
    for operator in graph.operators if sources else ():
        if not _is_product(operator):
            for index in operator.inputs:
                sources.pop(index, None)
    return sources


def _is_matrix(tensor: Tensor) -> bool:
    """Whether a tensor is symmetric, with one scale or one for each row."""
    return (
        tensor.value is not None
        and tensor.type in _ZERO_POINTS
        and tensor.blocks is None
        and not tensor.is_sparse
        and len(tensor.shape) == 2
        and bool(tensor.scales)
        and all(point == _ZERO_POINTS[tensor.type] for point in tensor.zero_points)
        and (not tensor.is_per_channel or (tensor.type != "UINT8" and tensor.channel_dim == 0))
    )
