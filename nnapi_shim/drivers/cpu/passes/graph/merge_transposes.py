"""Transposes that undo each other are left out, others become one."""

from struct import pack

from nnapi_shim.drivers.cpu.passes.graph.rewriter import Done, Graph, title
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.hal.types import Operand

NAME = "merge_transposes"
TRANSPOSE = OperationType.TRANSPOSE


def merge_transposes(graph: Graph) -> None:
    """A TRANSPOSE of what another one gave, and nobody else reads."""
    for position, item in graph.each(TRANSPOSE):
        (target,) = item.outputs
        found = graph.before(item.inputs[0], TRANSPOSE)
        if found is None:
            continue
        place, first = found
        between, source = item.inputs[0], first.inputs[0]
        outer, inner = graph.value(item.inputs[1]), graph.value(first.inputs[1])
        if outer is None or inner is None or not graph.is_plain(source, between, target):
            continue
        joined = tuple([inner[axis] for axis in outer])
        if joined == tuple(range(len(joined))):
            if target in graph.outputs or not graph.are_alike(source, target):
                continue
            graph.remove(position)
            graph.remove(place)
            graph.read_instead(target, source)
            what = f"{title(item)}: undoes {title(first)}; both are left out"
        else:
            perm = Operand(OperandType.TENSOR_INT32, (len(joined),))
            order = graph.constant(perm, pack(f"<{len(joined)}i", *joined))
            graph.remove(place)
            graph.replace(position, item._replace(inputs=(source, order)))
            what = f"{title(first)}: part of {title(item)}"
        graph.done.append(Done(NAME, item.number, what))
