"""Replaces a chain of element-wise operations on one quantized operand by a table of 256 bytes.

Examples: a quantized x * LOGISTIC(x), or a float32 GELU between DEQUANTIZE and QUANTIZE. The result
is a function of one byte, so it has 256 values. The kernels of the operations compute these values
at compilation.
"""

from nnapi_shim.drivers.cpu.passes.fused import Fused
from nnapi_shim.drivers.cpu.passes.graph.merge_quantization import BYTES, Translation
from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hal.types import Operation, element_count
from nnapi_shim.hints import Iterator
from nnapi_shim.limits import watched
from nnapi_shim.operations import operation

MIN_ELEMENTS = 4096
"""Elements of the result, at least: the table costs 256 evaluations at compilation."""
MAX_OPERATIONS = 32
"""Operations of one table, at most."""


def tabulate_bytes(graph: MutableGraph) -> None:
    """Replace an element-wise operation with a quantized result, and the operations before it back
    to one quantized operand, if at least one of these operations becomes dead.
    """
    elementwise = {
        position
        for position, item in enumerate(watched(graph.operations))
        if isinstance(item, Operation) and _is_elementwise(graph, item)
    }
    for position in watched(sorted(elementwise, reverse=True)):
        item = graph.operations[position]
        if not isinstance(item, Operation):
            continue
        target = item.outputs[0]
        operand = graph.operands[target]
        if operand.type not in BYTES or element_count(operand.dimensions) < MIN_ELEMENTS:
            continue
        match = None
        for source, positions in _sources(graph, position, elementwise):
            removed = _removable(graph, position, positions)
            if removed:
                match = source, positions, removed
        if match is None:
            continue
        source, positions, removed = match
        table = _table(graph, source, positions, target)
        if table is None:
            continue
        lower = Translation(table).lower
        fused = Fused(OperationType(item.type), (source,), (target,), item.number, lower)
        graph.replace(position, fused)
        elementwise.discard(position)
        for other in removed:
            graph.remove(other)
        graph.report(item, f"{title(item)}: a table, in place of {len(removed) + 1} operations")


def _sources(
    graph: MutableGraph, position: int, elementwise: set[int]
) -> Iterator[tuple[int, list[int]]]:
    """Quantized operands that are the single source of an operation, nearest first, each with the
    positions of the operations between. elementwise: positions of the element-wise operations.
    """
    positions: list[int] = []
    pending: dict[int, int] = {position: -1}
    """Position of an operation that is not visited yet -> its output operand."""
    operand_sources: set[int] = set()
    while pending and len(positions) < MAX_OPERATIONS:
        current = max(pending)
        del pending[current]
        item = graph.operations[current]
        assert item is not None
        positions.append(current)
        for index in item.inputs:
            if graph.is_constant(index):
                continue
            producer = graph.producer.get(index)
            if producer is not None and producer in elementwise:
                pending[producer] = index
            else:
                operand_sources.add(index)
        reached = operand_sources.union(pending.values())
        if len(reached) == 1:
            (source,) = reached
            if graph.operands[source].type in BYTES:
                yield source, positions[::-1]


def _is_elementwise(graph: MutableGraph, item: Operation) -> bool:
    """Whether an operation is element-wise on operands of equal dimensions and scalar constants."""
    if not operation(item.type).elementwise:
        return False
    dimensions = graph.operands[item.outputs[0]].dimensions
    read = 0
    for index in item.inputs:
        operand = graph.operands[index]
        if operand.lifetime is OperandLifeTime.NO_VALUE:
            return False
        if graph.is_constant(index):
            if element_count(operand.dimensions) != 1:
                return False
        elif operand.dimensions != dimensions or not graph.is_plain(index):
            return False
        else:
            read += 1
    return read > 0


def _removable(graph: MutableGraph, position: int, positions: list[int]) -> list[int]:
    """Positions of the operations that become dead when `position` is replaced; last first."""
    removed: list[int] = []
    for other in reversed(positions):
        if other == position:
            continue
        item = graph.operations[other]
        assert item is not None
        output = item.outputs[0]
        readers = set(graph.readers.get(output, ()))
        if output not in graph.outputs and readers <= {position, *removed}:
            removed.append(other)
    return removed


def _table(graph: MutableGraph, source: int, positions: list[int], target: int) -> bytes | None:
    """The result of the operations for each byte value; None on failure."""
    operand = graph.operands[source]
    dimensions = (*[1] * (len(operand.dimensions) - 1), 256)
    all_bytes = graph.constant(operand._replace(dimensions=dimensions), bytes(range(256)))
    operands, operations = list(graph.operands), []
    for position in positions:
        item = graph.operations[position]
        assert isinstance(item, Operation)
        inputs = tuple([all_bytes if index == source else index for index in item.inputs])
        operations.append(item._replace(inputs=inputs))
        for index in item.outputs:
            operands[index] = operands[index]._replace(
                dimensions=dimensions, lifetime=OperandLifeTime.TEMPORARY_VARIABLE
            )
    operands[target] = operands[target]._replace(lifetime=OperandLifeTime.SUBGRAPH_OUTPUT)
    results = graph.evaluate(
        graph.subgraph._replace(
            operands=tuple(operands),
            operations=tuple(operations),
            input_indexes=(),
            output_indexes=(target,),
        )
    )
    return None if results is None else results[0]
