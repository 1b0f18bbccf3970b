"""Arithmetic of two inputs."""

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.operations import NONE
from nnapi_shim.formats.tflite.importing.options import activation, add_fused, bounded
from nnapi_shim.formats.tflite.importing.plain import Lowering, plain
from nnapi_shim.formats.tflite.importing.reason import reason
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.operations.shapes import broadcast


def _fused(type: str) -> Lowering:
    """Two inputs and an activation."""

    def lower(graph: Importing, operator: Operator) -> None:
        add_fused(graph, type, list(graph.operands(operator.inputs)), operator)

    return lower


def _pair(graph: Importing, operator: Operator) -> list[Operand]:
    if len(operator.inputs) != 2:
        raise reason(f"it has {len(operator.inputs)} inputs", "import.tflite.input-count")
    return graph.operands(operator.inputs)


def divide(graph: Importing, operator: Operator) -> None:
    """Integers are rounded toward zero here, and down in NNAPI: signs are put back afterwards."""
    a, b = _pair(graph, operator)
    if a.type is not T.TENSOR_INT32:
        add_fused(graph, "DIV", [a, b], operator)
        return
    shape = common(a, b)
    sizes = [graph.make("ABS", [operand]) for operand in (a, b)]
    size = graph.make("DIV", [*sizes, NONE])
    zero = np.zeros(1, np.int32)
    negative = graph.make("NOT_EQUAL", [graph.make("LESS", [i, zero]) for i in (a, b)])
    operands = [graph.broadcast(negative, shape), graph.make("NEG", [size]), size]
    graph.give(operator, bounded(graph, graph.make("SELECT", operands), activation(operator)))


def common(*operands: Operand) -> tuple[int, ...]:
    """The dimensions that operands have once they are broadcast."""
    if not all(operand.is_known for operand in operands):
        raise reason(
            "only a run tells the dimensions of its inputs", "import.tflite.dynamic-dimensions"
        )
    return broadcast(*(operand.dimensions for operand in operands))


def floor_divide(graph: Importing, operator: Operator) -> None:
    """Rounded down, as NNAPI does it with integers."""
    a, b = _pair(graph, operator)
    if a.scale or b.scale:
        raise reason(
            "it is of quantized values, whose scales LiteRT takes no notice of",
            "import.tflite.binary.quantized",
        )
    if a.type is T.TENSOR_INT32:
        graph.add("DIV", [a, b, NONE], operator)
    else:
        graph.add("FLOOR", [graph.make("DIV", [a, b, NONE])], operator)


def floor_modulo(graph: Importing, operator: Operator) -> None:
    """What is left of integers."""
    a, b = _pair(graph, operator)
    if a.type is not T.TENSOR_INT32:
        raise reason(
            "of real numbers, NNAPI's operations round it in between",
            "import.tflite.binary.rounding",
        )
    whole = graph.make("MUL", [graph.make("DIV", [a, b, NONE]), b, NONE])
    graph.add("SUB", [a, whole, NONE], operator)


def squared_difference(graph: Importing, operator: Operator) -> None:
    """In real numbers where it is quantized."""
    pair = [graph.real(operand) if operand.scale else operand for operand in _pair(graph, operator)]
    difference = graph.make("SUB", [*pair, NONE])
    graph.give(operator, graph.make("MUL", [difference, difference, NONE]))


def _either(type: str) -> Lowering:
    """LiteRT compares stored elements, so that all have to have the same scale."""

    def lower(graph: Importing, operator: Operator) -> None:
        pair = _pair(graph, operator)
        tensors = [graph.tensor(index) for index in (*operator.inputs, *operator.outputs)]
        if len({(tensor.scale, tensor.zero_point) for tensor in tensors}) > 1:
            raise reason(
                "its inputs and its output have not the same scale", "import.tflite.scale-differs"
            )
        graph.add(type, pair, operator)

    return lower


def add_all(graph: Importing, operator: Operator) -> None:
    """One sum after the other."""
    total, *others = graph.operands(operator.inputs)
    for other in others:
        total = graph.make("ADD", [total, other, NONE])
    graph.give(operator, total if others else graph.copy(total))


LOWERINGS: dict[str, Lowering] = {
    "ADD": _fused("ADD"),
    "ADD_N": add_all,
    "DIV": divide,
    "FLOOR_DIV": floor_divide,
    "FLOOR_MOD": floor_modulo,
    "MAXIMUM": _either("MAXIMUM"),
    "MINIMUM": _either("MINIMUM"),
    "MUL": _fused("MUL"),
    "POW": plain("POW"),
    "SQUARED_DIFFERENCE": squared_difference,
    "SUB": _fused("SUB"),
}
