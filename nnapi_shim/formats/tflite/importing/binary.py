"""Binary arithmetic."""

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.operations import NONE, require_known
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.options import activation, add_fused, bounded
from nnapi_shim.formats.tflite.importing.plain import Lowering, plain
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
    """DIV; integer DIV truncates."""
    a, b = _pair(graph, operator)
    if a.type is not T.TENSOR_INT32:
        add_fused(graph, "DIV", [a, b], operator)
        return
    require_known(a, b)
    graph.give(operator, bounded(graph, graph.truncated_quotient(a, b), activation(operator)))


def common(*operands: Operand) -> tuple[int, ...]:
    """The broadcast shape of the operands."""
    require_known(*operands)
    return broadcast(*(operand.dimensions for operand in operands))


def floor_divide(graph: Importing, operator: Operator) -> None:
    """FLOOR_DIV; NNAPI's integer DIV floors, too."""
    a, b = _pair(graph, operator)
    if a.scale or b.scale:
        raise reason(
            "its values are quantized, and LiteRT ignores the scales",
            "import.tflite.binary.quantized",
        )
    if a.type is T.TENSOR_INT32:
        graph.add("DIV", [a, b, NONE], operator)
    else:
        graph.add("FLOOR", [graph.make("DIV", [a, b, NONE])], operator)


def floor_modulo(graph: Importing, operator: Operator) -> None:
    """FLOOR_MOD of integers."""
    a, b = _pair(graph, operator)
    if a.type is not T.TENSOR_INT32:
        raise reason(
            "for floats, NNAPI's operations round intermediate results",
            "import.tflite.binary.rounding",
        )
    multiple = graph.make("MUL", [graph.make("DIV", [a, b, NONE]), b, NONE])
    graph.add("SUB", [a, multiple, NONE], operator)


def squared_difference(graph: Importing, operator: Operator) -> None:
    """SQUARED_DIFFERENCE; quantized inputs are computed in float32."""
    pair = [graph.real(operand) if operand.scale else operand for operand in _pair(graph, operator)]
    difference = graph.make("SUB", [*pair, NONE])
    graph.give(operator, graph.make("MUL", [difference, difference, NONE]))


def _either(type: str) -> Lowering:
    """MAXIMUM or MINIMUM; LiteRT compares stored elements, so the scales must be equal."""

    def lower(graph: Importing, operator: Operator) -> None:
        pair = _pair(graph, operator)
        tensors = [graph.tensor(index) for index in (*operator.inputs, *operator.outputs)]
        if len({(tensor.scale, tensor.zero_point) for tensor in tensors}) > 1:
            raise reason(
                "its inputs and its output have different scales", "import.tflite.scale-differs"
            )
        graph.add(type, pair, operator)

    return lower


def add_all(graph: Importing, operator: Operator) -> None:
    """ADD_N as a chain of ADD."""
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
