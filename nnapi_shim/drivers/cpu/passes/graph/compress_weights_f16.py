"""Stores large weight matrices of matrix-vector products as float16, in models that allow it."""

from struct import iter_unpack, pack

from nnapi_shim.drivers.cpu.lowering.half_precision import MIN_BYTES, ON_ONE_ROW, can_halve
from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.drivers.cpu.passes.graph.rows import batches
from nnapi_shim.hal.enums import OperandLifeTime, OperandType, OperationType
from nnapi_shim.hal.types import Operand, Operation, byte_size

O = OperationType  # noqa: E741
SMALLEST, LARGEST = 2.0**-14, 65504.0
"""The smallest and the largest normal float16."""


def compress_weights_f16(graph: MutableGraph) -> None:
    """Compress all constant matrices of an operation with batch size 1, if the largest magnitude in
    each matrix row is 0 or a normal float16. The rounding error of every weight is then at most
    that of the largest weight in its row.
    """
    if not can_halve():
        return
    for _, item in list(graph.each(*ON_ONE_ROW)):
        if batches(graph, item) != 1:
            continue
        matrices = [index for index in dict.fromkeys(item.inputs) if _is_matrix(graph, index)]
        size = sum([byte_size(graph.operands[index]) for index in matrices])
        if size >= MIN_BYTES and _are_in_range(graph, matrices):
            weights = [
                (graph.address(index), graph.operands[index].dimensions) for index in matrices
            ]
            graph.constants.halved.update(weights)
            graph.report(item, f"{title(item)}: {size >> 10} KiB of weights are kept as float16")


def _is_matrix(graph: MutableGraph, index: int) -> bool:
    operand = graph.operands[index]
    is_float = operand.type is OperandType.TENSOR_FLOAT32 and graph.is_constant(index)
    return is_float and len(operand.dimensions) == 2 and operand.dimensions[0] > 1


def _are_in_range(graph: MutableGraph, indexes: list[int]) -> bool:
    """Whether the largest magnitude of each row is 0 or a normal float16. The reductions ignore
    NaN, which float16 represents.
    """
    axis = graph.constant(Operand(OperandType.TENSOR_INT32, (1,)), pack("<i", 1))
    keep_dimensions = graph.scalar(OperandType.BOOL, False)
    operands, operations = list(graph.operands), []
    for index in indexes:
        for type in (O.REDUCE_MAX, O.REDUCE_MIN):
            operations.append(Operation(type, (index, axis, keep_dimensions), (len(operands),)))
            rows = operands[index].dimensions[:1]
            lifetime = OperandLifeTime.SUBGRAPH_OUTPUT
            operands.append(Operand(OperandType.TENSOR_FLOAT32, rows, lifetime=lifetime))
    extremes = graph.evaluate(
        graph.subgraph._replace(
            operands=tuple(operands),
            operations=tuple(operations),
            input_indexes=(),
            output_indexes=tuple([item.outputs[0] for item in operations]),
        )
    )
    if extremes is None:
        return False
    for highest, lowest in zip(extremes[::2], extremes[1::2], strict=True):
        for (high,), (low,) in zip(
            iter_unpack("<f", highest), iter_unpack("<f", lowest), strict=True
        ):
            largest = max(high, -low)
            if largest != 0 and not SMALLEST <= largest <= LARGEST:
                return False
    return True
