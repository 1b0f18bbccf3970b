"""Element-wise functions of one byte become a table of 256 bytes.

A quantized x times its LOGISTIC, or a GELU in float32 between DEQUANTIZE and QUANTIZE: however many
operations they are, they have one result for each of 256 numbers. The kernels that would compute
the operations in a run compute these results at compilation.
"""

from collections.abc import Iterator

from nnapi_shim.drivers.cpu.passes.fused import Fused
from nnapi_shim.drivers.cpu.passes.graph.merge_quantization import BYTES, Translation
from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hal.types import Operation, element_count
from nnapi_shim.limits import watched
from nnapi_shim.operations import operation

WORTH = 4096
"""Elements from which on it is worth to compute 256 others first."""
MOST = 32
"""Operations that become one table."""


def tabulate_bytes(graph: MutableGraph) -> None:
    """An operation with a quantized result, and those before it, down to one operand of bytes, if
    some of them are not needed elsewhere.
    """
    each = {
        position
        for position, item in enumerate(watched(graph.operations))
        if isinstance(item, Operation) and _is_each(graph, item)
    }
    for position in watched(sorted(each, reverse=True)):
        item = graph.operations[position]
        if not isinstance(item, Operation):
            continue
        target = item.outputs[0]
        operand = graph.operands[target]
        if operand.type not in BYTES or element_count(operand.dimensions) < WORTH:
            continue
        found = None
        for source, places in _sources(graph, position, each):
            gone = _needed_here_alone(graph, position, places)
            if gone:
                found = source, places, gone
        if found is None:
            continue
        source, places, gone = found
        table = _table(graph, source, places, target)
        if table is None:
            continue
        lower = Translation(table).lower
        fused = Fused(OperationType(item.type), (source,), (target,), item.number, lower)
        graph.replace(position, fused)
        each.discard(position)
        for place in gone:
            graph.remove(place)
        graph.report(item, f"{title(item)}: a table, in place of {len(gone) + 1} operations")


def _sources(graph: MutableGraph, position: int, each: set[int]) -> Iterator[tuple[int, list[int]]]:
    """Operands of bytes on which alone an operation depends, and the positions of the operations
    between, the nearest operand first. each: positions of the element-wise operations.
    """
    places: list[int] = []
    pending: dict[int, int] = {position: -1}
    """Position of an operation that is not looked at yet -> what it writes."""
    ends: set[int] = set()
    while pending and len(places) < MOST:
        place = max(pending)
        del pending[place]
        item = graph.operations[place]
        assert item is not None
        places.append(place)
        for index in item.inputs:
            if graph.is_constant(index):
                continue
            producer = graph.producer.get(index)
            if producer is not None and producer in each:
                pending[producer] = index
            else:
                ends.add(index)
        reached = ends.union(pending.values())
        if len(reached) == 1:
            (source,) = reached
            if graph.operands[source].type in BYTES:
                yield source, places[::-1]


def _is_each(graph: MutableGraph, item: Operation) -> bool:
    """Whether an operation goes element by element through operands of the same dimensions, beside
    constants of one number.
    """
    if not operation(OperationType(item.type)).elementwise:
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


def _needed_here_alone(graph: MutableGraph, position: int, places: list[int]) -> list[int]:
    """The producers of an operation that become dead without it; the last one first."""
    gone: list[int] = []
    for place in reversed(places):
        if place == position:
            continue
        item = graph.operations[place]
        assert item is not None
        output = item.outputs[0]
        readers = set(graph.readers.get(output, ()))
        if output not in graph.outputs and readers <= {position, *gone}:
            gone.append(place)
    return gone


def _table(graph: MutableGraph, source: int, places: list[int], target: int) -> bytes | None:
    """The result of the operations for each byte; None where that fails."""
    operand = graph.operands[source]
    dimensions = (*[1] * (len(operand.dimensions) - 1), 256)
    given = graph.constant(operand._replace(dimensions=dimensions), bytes(range(256)))
    operands, operations = list(graph.operands), []
    for place in places:
        item = graph.operations[place]
        assert isinstance(item, Operation)
        inputs = tuple([given if index == source else index for index in item.inputs])
        operations.append(item._replace(inputs=inputs))
        for index in item.outputs:
            operands[index] = operands[index]._replace(
                dimensions=dimensions, lifetime=OperandLifeTime.TEMPORARY_VARIABLE
            )
    operands[target] = operands[target]._replace(lifetime=OperandLifeTime.SUBGRAPH_OUTPUT)
    found = graph.evaluate(
        graph.subgraph._replace(
            operands=tuple(operands),
            operations=tuple(operations),
            input_indexes=(),
            output_indexes=(target,),
        )
    )
    return None if found is None else found[0]
