"""Comparisons, logical operations and selection."""

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.binary import common
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.plain import Lowering, plain
from nnapi_shim.hal.enums import OperandType as T


def select(graph: Importing, operator: Operator) -> None:
    """SELECT; a condition of rank 1 selects rows."""
    condition, one, other = graph.operands(operator.inputs)
    if len(condition.dimensions) == 1 and len(one.dimensions) > 1 and condition.dimensions != (1,):
        raise reason(
            "it selects rows, and NNAPI does not reshape booleans", "import.tflite.bool-reshape"
        )
    _choose(graph, operator, condition, one, other)


def select_broadcast(graph: Importing, operator: Operator) -> None:
    """SELECT_V2; all three inputs are broadcast."""
    _choose(graph, operator, *graph.operands(operator.inputs))


def _choose(
    graph: Importing, operator: Operator, condition: Operand, one: Operand, other: Operand
) -> None:
    if one.type is T.TENSOR_BOOL8:
        graph.give(operator, graph.chosen_bool(condition, one, other))
        return
    operands = [condition, one, other]
    if len({operand.dimensions for operand in operands}) > 1 or not one.is_known:
        shape = common(*operands)
        operands = [graph.broadcast(operand, shape) for operand in operands]
    if (operands[1].scale, operands[1].zero_point) != (operands[2].scale, operands[2].zero_point):
        kind, scale, zero_point = graph.parameters(graph.tensor(operator.outputs[0]))
        operands[1:] = [graph.requantized(o, kind, scale, zero_point) for o in operands[1:]]
    graph.add("SELECT", operands, operator)


LOWERINGS: dict[str, Lowering] = {
    "EQUAL": plain("EQUAL"),
    "GREATER": plain("GREATER"),
    "GREATER_EQUAL": plain("GREATER_EQUAL"),
    "LESS": plain("LESS"),
    "LESS_EQUAL": plain("LESS_EQUAL"),
    "LOGICAL_AND": plain("LOGICAL_AND"),
    "LOGICAL_NOT": plain("LOGICAL_NOT"),
    "LOGICAL_OR": plain("LOGICAL_OR"),
    "NOT_EQUAL": plain("NOT_EQUAL"),
    "SELECT": select,
    "SELECT_V2": select_broadcast,
}
