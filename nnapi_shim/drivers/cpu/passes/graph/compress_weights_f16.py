"""Large weights of models that allow it are kept as float16, where they are read for one row."""

from struct import iter_unpack, pack

from nnapi_shim.drivers.cpu.lowering.half_precision import LEAST_BYTES, ON_ONE_ROW, can_halve
from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.hal.enums import OperandLifeTime, OperandType, OperationType
from nnapi_shim.hal.types import Operand, Operation, byte_size

O = OperationType  # noqa: E741
SMALLEST, LARGEST = 2.0**-14, 65504.0
"""Of the normal numbers of float16."""


def compress_weights_f16(graph: MutableGraph) -> None:
    """Constant matrices of an operation on one row, or one sequence: all of them, if the largest
    weight of each row is a normal float16, or 0. What is smaller is then off by no more than the
    largest may be.
    """
    if not can_halve():
        return
    for _, item in list(graph.each(*ON_ONE_ROW)):
        if _batches(graph, item) != 1:
            continue
        found = [index for index in dict.fromkeys(item.inputs) if _is_matrix(graph, index)]
        size = sum([byte_size(graph.operands[index]) for index in found])
        if size >= LEAST_BYTES and _are_in_range(graph, found):
            places = [(graph.address(index), graph.operands[index].dimensions) for index in found]
            graph.constants.halved.update(places)
            graph.report(item, f"{title(item)}: {size >> 10} KiB of weights are kept as float16")


def _batches(graph: MutableGraph, item: Operation) -> int:
    """Rows or sequences that the weights are multiplied with at once; 0 if that is not known."""
    if item.type is O.FULLY_CONNECTED:
        return (graph.operands[item.outputs[0]].dimensions or (0,))[0]
    names = graph.named(item)
    dimensions = graph.operands[names["input"]].dimensions
    at = 1 if "time_major" in names and graph.value(names["time_major"]) else 0
    return dimensions[at] if len(dimensions) > at else 0


def _is_matrix(graph: MutableGraph, index: int) -> bool:
    operand = graph.operands[index]
    is_float = operand.type is OperandType.TENSOR_FLOAT32 and graph.is_constant(index)
    return is_float and len(operand.dimensions) == 2 and operand.dimensions[0] > 1


def _are_in_range(graph: MutableGraph, indexes: list[int]) -> bool:
    """Whether the largest of each row is; the kernels that find it pass over NaN, which stays."""
    axis = graph.constant(Operand(OperandType.TENSOR_INT32, (1,)), pack("<i", 1))
    keeps = graph.scalar(OperandType.BOOL, False)
    operands, operations = list(graph.operands), []
    for index in indexes:
        for type in (O.REDUCE_MAX, O.REDUCE_MIN):
            operations.append(Operation(type, (index, axis, keeps), (len(operands),)))
            rows = operands[index].dimensions[:1]
            kind = OperandLifeTime.SUBGRAPH_OUTPUT
            operands.append(Operand(OperandType.TENSOR_FLOAT32, rows, lifetime=kind))
    found = graph.evaluate(
        graph.subgraph._replace(
            operands=tuple(operands),
            operations=tuple(operations),
            input_indexes=(),
            output_indexes=tuple([item.outputs[0] for item in operations]),
        )
    )
    if found is None:
        return False
    for highest, lowest in zip(found[::2], found[1::2], strict=True):
        for (high,), (low,) in zip(
            iter_unpack("<f", highest), iter_unpack("<f", lowest), strict=True
        ):
            largest = max(high, -low)
            if largest != 0 and not SMALLEST <= largest <= LARGEST:
                return False
    return True
