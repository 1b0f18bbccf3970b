"""BATCH_MATMUL."""

from nnapi_shim.formats.importing.operations import require_known
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.plain import Lowering
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.operations.shapes import broadcast


def batch_matmul(graph: Importing, operator: Operator) -> None:
    """BATCH_MATMUL; constant weights of a hybrid operator become float32, batches are broadcast."""
    options = operator.options
    left = graph.operand(operator.inputs[0])
    is_real = left.type is T.TENSOR_FLOAT32
    right = graph.reals(operator.inputs[1]) if is_real else graph.operand(operator.inputs[1])
    pair = [left, right]
    if left.dimensions[:-2] != right.dimensions[:-2]:
        require_known(left, right)
        lead = broadcast(*(operand.dimensions[:-2] for operand in pair))
        pair = [graph.broadcast(operand, (*lead, *operand.dimensions[-2:])) for operand in pair]
    flags = [bool(options.get(name, False)) for name in ("AdjX", "AdjY")]
    graph.add("BATCH_MATMUL", [*pair, *flags], operator)


LOWERINGS: dict[str, Lowering] = {"BATCH_MATMUL": batch_matmul}
