"""Constant folding: evaluates operations with only constant inputs at compilation."""

from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hal.types import Operation, byte_size
from nnapi_shim.limits import watched

O = OperationType  # noqa: E741
NEVER_FOLDED = (O.IF, O.WHILE, O.RANDOM_MULTINOMIAL)
MAX_BYTES = 1 << 20
MAX_GROWTH = 4
"""An operation is folded if its results have at most MAX_BYTES, or at most MAX_GROWTH times the
bytes of its inputs.
"""


def fold_constants(graph: MutableGraph) -> None:
    """Evaluate all operations that depend only on constants. If one fails, none is folded, and the
    run reports the error.
    """
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
    results = graph.evaluate(
        graph.subgraph._replace(
            operations=tuple(folded.values()), input_indexes=(), output_indexes=tuple(needed)
        )
    )
    if results is None:
        return
    for index, contents in watched(zip(needed, results, strict=True)):
        graph.make_constant(index, contents)
    for position, item in watched(folded.items()):
        graph.remove(position)
        graph.report(item, f"{title(item)}: its result is a constant")


def _is_folded(graph: MutableGraph, item: Operation, known: set[int]) -> bool:
    """Whether an operation is folded. known: results of operations that are folded."""
    operands = graph.operands
    if item.type in NEVER_FOLDED or not item.inputs or not graph.outputs.isdisjoint(item.outputs):
        return False
    input_bytes = 0
    for index in item.inputs:
        if operands[index].lifetime is not OperandLifeTime.NO_VALUE:
            if index not in known and not graph.is_constant(index):
                return False
            input_bytes += byte_size(operands[index])
    if not graph.is_plain(*item.outputs):
        return False
    output_bytes = sum([byte_size(operands[index]) for index in item.outputs])
    return output_bytes <= max(MAX_BYTES, MAX_GROWTH * input_bytes)
