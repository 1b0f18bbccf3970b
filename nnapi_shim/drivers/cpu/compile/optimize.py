"""The graphs of a model as passes leave them, and what passes compute of constants."""

from collections.abc import Iterator, Sequence

from nnapi_shim import address
from nnapi_shim.drivers.cpu.compile.constants import Constants
from nnapi_shim.drivers.cpu.compile.inlining import Referenced
from nnapi_shim.drivers.cpu.compile.segments import Graph
from nnapi_shim.drivers.cpu.passes import applied
from nnapi_shim.drivers.cpu.program import library as libraries
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.run.runner import compiled_walk
from nnapi_shim.errors import Place
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.types import Model, Subgraph, byte_size, is_known
from nnapi_shim.hints import TYPE_CHECKING
from nnapi_shim.limits import TooLate, watched

if TYPE_CHECKING:
    from nnapi_shim.drivers.cpu.passes.graph.rewriter import Done


def rewritten(
    library: KernelLibrary,
    referenced: Referenced,
    constants: Constants,
    subgraph: Subgraph,
    deadline_ns: int = 0,
) -> tuple[Subgraph, "Sequence[Done]"]:
    """A graph as passes leave it, and what they did.

    deadline_ns: as in Builder; raises TooLate.
    """

    def evaluate(graph: Subgraph) -> Sequence[bytes] | None:
        return _evaluated(library, referenced, constants, graph, deadline_ns)

    return applied(subgraph, constants, evaluate)


def done_to(model: Model) -> "Sequence[Done]":
    """What passes do to a model that the CPU device is given."""
    library, referenced, constants = libraries.current(), Referenced(model), Constants(model)
    subgraph, done = rewritten(library, referenced, constants, model.main)
    return [*done, *_joined(Graph(library, referenced, subgraph, constants))]


def _joined(graph: Graph) -> "Iterator[Done]":
    """What is done to the steps of a graph, where they are known before a run."""
    operands, main = graph.subgraph.operands, graph.subgraph
    arguments = [operands[index] for index in (*main.input_indexes, *main.output_indexes)]
    if not all(is_known(operand.type, operand.dimensions) for operand in arguments):
        return
    from nnapi_shim.drivers.cpu.passes.graph.rewriter import Done

    sizes = [operand.dimensions for operand in arguments]
    count = len(main.input_indexes)
    segment = graph.first(tuple(sizes[:count]), tuple(sizes[count:]))
    for joined in segment.builder.joined:
        if isinstance(joined.where, Place):
            what = f"{joined.where}: {joined.what}"
            yield Done(joined.name, joined.where.number, what)


def _evaluated(
    library: KernelLibrary,
    referenced: Referenced,
    constants: Constants,
    subgraph: Subgraph,
    deadline_ns: int,
) -> Sequence[bytes] | None:
    """The contents of the outputs; None where something about the graph fails."""
    operands = [subgraph.operands[index] for index in subgraph.output_indexes]
    segment = Graph(library, referenced, subgraph, constants).first(
        (), tuple([operand.dimensions for operand in operands]), deadline_ns=deadline_ns
    )
    if not segment.is_whole:
        return None
    blocks = [address.Block(byte_size(operand)) for operand in watched(operands)]
    if segment.program is not None:
        frame = segment.frame()
        frame.bind([block.address for block in blocks], 0)
        frame.set_deadline(deadline_ns)
        code = compiled_walk(segment.program, ())(frame.walk_block, 0)
        if code == ResultCode.MISSED_DEADLINE_TRANSIENT:
            raise TooLate(frame.program.origins[frame.stopped()][0])
        if code:
            return None
    return [
        address.read(block.address, byte_size(operand))
        for block, operand in watched(zip(blocks, operands, strict=True))
    ]
