"""Quantized 16-bit tensors (16x8), which few NNAPI operations take.

They are computed as TENSOR_FLOAT32 of the dequantized values. After every computing operator the
values are rounded to multiples of the scale, as LiteRT rounds them; the result equals LiteRT's or
differs by one step. Model inputs and outputs hold the stored elements as TENSOR_INT32.
"""

from collections.abc import Collection, Mapping
from functools import partial

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.math import Math
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import FileGraph, Operator, Tensor
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.hal.enums import OperandType as T

ROUNDER = 1.5 * 2.0**23
"""Adding and subtracting it rounds a number below 2^22 to the nearest integer."""

_CELLS = {
    "BIDIRECTIONAL_SEQUENCE_LSTM",
    "BIDIRECTIONAL_SEQUENCE_RNN",
    "LSTM",
    "RNN",
    "SVDF",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "UNIDIRECTIONAL_SEQUENCE_RNN",
}
_CALLS = {"IF", "STABLEHLO_COMPOSITE", "WHILE"}
"""Operators whose graphs round."""
_MOVES = """BATCH_TO_SPACE_ND BROADCAST_TO CONCATENATION DEPTH_TO_SPACE EXPAND_DIMS FILL GATHER
GATHER_ND MAXIMUM MAX_POOL_2D MINIMUM MIRROR_PAD PACK PAD PADV2 REDUCE_MAX REDUCE_MIN RESHAPE
RESIZE_NEAREST_NEIGHBOR REVERSE_V2 SELECT SELECT_V2 SLICE SPACE_TO_BATCH_ND SPACE_TO_DEPTH SPLIT
SPLIT_V SQUEEZE STRIDED_SLICE TILE TRANSPOSE UNPACK"""
MOVES = frozenset(_MOVES.split())
"""Operators that need no rounding if the scales of inputs and output are equal."""


OTHERWISE = {
    **dict.fromkeys(
        _CELLS, "computes cells with intermediate roundings that no NNAPI operation has"
    ),
    "EXP": "interpolates between 513 values, up to 21 steps from the formula",
    "FLOOR_DIV": "ignores scales",
    "FLOOR_MOD": "ignores scales",
    "LOG": "interpolates between 513 values, up to 18 steps from the formula",
    "PRELU": "computes other values than the formula",
    "RESIZE_BILINEAR": "rounds the weights of pixels to 10 bits",
    "RSQRT": "is up to 1 % from the formula",
}
"""Operators whose results would differ by many steps -> what LiteRT does."""

_STORED = "CONCATENATION EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL NOT_EQUAL"
STORED = frozenset(_STORED.split())
"""Operators that compare or copy stored elements in LiteRT."""


def wide_tensors(graph: FileGraph) -> set[int]:
    """Indices of the tensors that are kept as float32; not those of cells, whose 16-bit states
    NNAPI supports.
    """
    cells = {
        index
        for operator in graph.operators
        if operator.name in _CELLS
        for index in (*operator.inputs, *operator.outputs, *operator.intermediates)
    }
    return {t.number for t in graph.tensors if _is_quantized(t) and t.number not in cells}


def _is_quantized(tensor: Tensor) -> bool:
    return tensor.type == "INT16" and bool(tensor.scales)


def from_stored(graph: Importing, tensor: Tensor, stored: Operand) -> Operand:
    """The float32 values of a model input."""
    m = Math(graph)
    real = graph.make("CAST", [stored], output=T.TENSOR_FLOAT32)
    if tensor.zero_point:
        real = m.sub(real, tensor.zero_point)
    return m.mul(real, tensor.scale)


def to_stored(graph: Importing, tensor: Tensor, real: Operand) -> Operand:
    """The stored elements of a model output, as TENSOR_INT32."""
    steps = _steps(graph, tensor, real)
    if tensor.zero_point:
        steps = Math(graph).add(steps, tensor.zero_point)
    return graph.make("CAST", [steps], output=T.TENSOR_INT32)


def _steps(graph: Importing, tensor: Tensor, real: Operand) -> Operand:
    """Float32 values as integer steps from the zero point, within 16 bits."""
    if not tensor.scale:
        raise reason(
            f"{tensor} is 16-bit and has scales per channel", "import.tflite.int16.per-channel"
        )
    if tensor.scale < 2.0**-120:  # its inverse overflows float32
        raise reason(
            f"{tensor} is 16-bit and has the scale {tensor.scale}", "import.tflite.int16.scale"
        )
    low, high = (limit - tensor.zero_point for limit in (-32768, 32767))
    m = Math(graph)
    steps = m.max(m.min(m.mul(real, 1 / np.float64(tensor.scale)), high), low)
    return m.sub(m.add(steps, ROUNDER), ROUNDER)


def notes(operators: Mapping[str, int]) -> tuple[str, ...]:
    """How 16-bit tensors are expressed. operators: operator name -> number of operators with such
    tensors.
    """
    if not operators:
        return ()
    names = [f"{count} {name}" if count > 1 else name for name, count in operators.items()]
    return (
        "activations of 16 bits (16x8) are computed in TENSOR_FLOAT32 and rounded to the steps of "
        "their scales after each operator, so results may differ from LiteRT's by one 16-bit step, "
        f"those of LOGISTIC, SOFTMAX and TANH by up to 12: {', '.join(names)}",
    )


def rounded(graph: Importing, operator: Operator, wide: Collection[int]) -> None:
    """Round the outputs of an operator to multiples of their scales."""
    if operator.name in _CELLS | _CALLS:
        return
    if any(index in wide for index in (*operator.inputs, *operator.outputs)):
        graph.with_wide[operator.name] = graph.with_wide.get(operator.name, 0) + 1
    outputs = [index for index in operator.outputs if index in wide]
    for index in outputs:
        tensor = graph.tensor(index)
        before = [graph.tensor(i) for i in operator.inputs if i in wide]
        grid = {(t.scale, t.zero_point) for t in (tensor, *before)}
        if graph.value(index) is None and (operator.name not in MOVES or len(grid) > 1):
            graph.replace(index, partial(_on_grid, graph, tensor))


def _on_grid(graph: Importing, tensor: Tensor, real: Operand) -> Operand:
    return Math(graph).mul(_steps(graph, tensor, real), tensor.scale)


def check(graph: Importing, operator: Operator) -> None:
    """Refuse operators that LiteRT computes differently for 16-bit tensors."""
    tensors = [graph.tensor(i) for i in (*operator.inputs, *operator.outputs) if i in graph.wide]
    if not tensors:
        return
    if operator.name in OTHERWISE:
        raise reason(
            f"for 16-bit tensors LiteRT {OTHERWISE[operator.name]}", "import.tflite.int16.operator"
        )
    if operator.name in STORED and len({(t.scale, t.zero_point) for t in tensors}) > 1:
        raise reason(
            "for 16-bit tensors LiteRT ignores different scales",
            "import.tflite.int16.scales-differ",
        )
