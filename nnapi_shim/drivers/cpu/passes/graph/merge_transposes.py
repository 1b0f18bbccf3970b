"""Removes pairs of inverse transposes, and merges other pairs into one transpose."""

from struct import pack

from nnapi_shim.drivers.cpu.passes.graph.pattern import Op, matches
from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph, title
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.hal.types import Operand

FIRST = Op(OperationType.TRANSPOSE)
SECOND = Op(OperationType.TRANSPOSE, FIRST)


def merge_transposes(graph: MutableGraph) -> None:
    """Merge each TRANSPOSE whose input is the result of a TRANSPOSE."""
    for match in matches(graph, SECOND):
        item, first = match[SECOND], match[FIRST]
        target, between, source = item.outputs[0], item.inputs[0], first.inputs[0]
        outer, inner = graph.value(item.inputs[1]), graph.value(first.inputs[1])
        if outer is None or inner is None or not graph.is_plain(source, between, target):
            continue
        joined = tuple([inner[axis] for axis in outer])
        if joined == tuple(range(len(joined))):
            if target in graph.outputs or not graph.are_alike(source, target):
                continue
            match.replace(SECOND, None)
            graph.replace_uses(target, source)
            text = f"{title(item)}: undoes {title(first)}; both are left out"
        else:
            perm = Operand(OperandType.TENSOR_INT32, (len(joined),))
            order = graph.constant(perm, pack(f"<{len(joined)}i", *joined))
            match.replace(SECOND, item._replace(inputs=(source, order)))
            text = f"{title(first)}: part of {title(item)}"
        graph.report(item, text)
