"""Operations on constants alone are computed when the model is compiled."""

from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hal.types import Operation, byte_size
from nnapi_shim.limits import watched

O = OperationType  # noqa: E741
LEFT = (O.IF, O.WHILE, O.RANDOM_MULTINOMIAL)
MOST_BYTES = 1 << 20
MOST_GROWTH = 4
"""Bytes of results that are kept, whatever they were made of, and times what they were made of."""


def fold_constants(graph: MutableGraph) -> None:
    """Compute everything that depends on constants alone; if any of it fails, the runs do."""
    folded: dict[int, Operation] = {}
    known: set[int] = set()
    needed: dict[int, None] = {}
    for position, item in enumerate(watched(graph.operations)):
        if isinstance(item, Operation) and _is_folded(graph, item, known):
            folded[position] = item
            known.update(item.outputs)
        elif item is not None:
            needed |= dict.fromkeys([index for index in item.inputs if index in known])
    if not folded:
        return
    found = graph.evaluate(
        graph.subgraph._replace(
            operations=tuple(folded.values()), input_indexes=(), output_indexes=tuple(needed)
        )
    )
    if found is None:
        return
    for index, contents in watched(zip(needed, found, strict=True)):
        graph.make_constant(index, contents)
    for position, item in watched(folded.items()):
        graph.remove(position)
        graph.report(item, f"{title(item)}: its result is a constant")


def _is_folded(graph: MutableGraph, item: Operation, known: set[int]) -> bool:
    """Whether an operation is computed. known: the results that are computed already."""
    operands = graph.operands
    if item.type in LEFT or not item.inputs or not graph.outputs.isdisjoint(item.outputs):
        return False
    made_of = 0
    for index in item.inputs:
        if operands[index].lifetime is not OperandLifeTime.NO_VALUE:
            if index not in known and not graph.is_constant(index):
                return False
            made_of += byte_size(operands[index])
    if not graph.is_plain(*item.outputs):
        return False
    made = sum([byte_size(operands[index]) for index in item.outputs])
    return made <= max(MOST_BYTES, MOST_GROWTH * made_of)
