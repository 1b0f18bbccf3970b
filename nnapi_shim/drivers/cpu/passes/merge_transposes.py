"""Transposes that undo each other are left out, others become one."""

from struct import pack

from nnapi_shim.drivers.cpu.passes.graph import Done, Graph, title
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.hal.types import Operand, Operation

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
        outer, inner = _order(graph, item), _order(graph, first)
        if outer is None or inner is None or not graph.is_plain(source, between, target):
            continue
        joined = tuple([inner[axis] for axis in outer])
        sizes = graph.operands[source].dimensions
        if graph.operands[between].dimensions != tuple([sizes[axis] for axis in inner]):
            continue
        if graph.operands[target].dimensions != tuple([sizes[axis] for axis in joined]):
            continue
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


def _order(graph: Graph, item: Operation) -> tuple[int, ...] | None:
    """The axes of a TRANSPOSE, where they are known and make sense."""
    perm = graph.value(item.inputs[1])
    rank = len(graph.operands[item.inputs[0]].dimensions)
    return perm if perm is not None and sorted(perm) == list(range(rank)) else None
