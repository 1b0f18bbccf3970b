"""Runs the passes over the main graph of a model, and evaluates constants for them."""

from nnapi_shim import address
from nnapi_shim.drivers.cpu import passes
from nnapi_shim.drivers.cpu.compile.compiled_graph import CompiledGraph
from nnapi_shim.drivers.cpu.program import library as libraries
from nnapi_shim.drivers.cpu.program.constants import Constants
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.schedule import Rewrite
from nnapi_shim.errors import Place
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.types import Model, Subgraph, byte_size, is_known
from nnapi_shim.hints import TYPE_CHECKING, Iterator, Sequence
from nnapi_shim.limits import TooLate, watched

if TYPE_CHECKING:
    from nnapi_shim.drivers.cpu.compile.inlining import Referenced


def optimized(
    library: KernelLibrary,
    referenced: "Referenced | None",
    constants: Constants,
    subgraph: Subgraph,
    deadline_ns: int = 0,
) -> tuple[Subgraph, Sequence[Rewrite]]:
    """A graph after the graph passes, and their rewrites.

    deadline_ns: as in GraphLowering; raises TooLate.
    """

    def evaluate(graph: Subgraph) -> Sequence[bytes] | None:
        return _evaluated(CompiledGraph(library, referenced, graph, constants), deadline_ns)

    return passes.rewrite_graph(subgraph, constants, evaluate)


def rewrites(model: Model) -> Sequence[Rewrite]:
    """The rewrites of all passes when the CPU device compiles a model."""
    from nnapi_shim.drivers.cpu.compile.inlining import Referenced

    library, referenced, constants = libraries.current(), Referenced(model), Constants(model)
    subgraph, of_graph = optimized(library, referenced, constants, model.main)
    return [*of_graph, *_of_schedule(CompiledGraph(library, referenced, subgraph, constants))]


def _of_schedule(graph: CompiledGraph) -> Iterator[Rewrite]:
    """The schedule rewrites of the first segment, if the shapes of the arguments are static."""
    main = graph.subgraph
    arguments = [main.operands[index] for index in (*main.input_indexes, *main.output_indexes)]
    if not all(is_known(operand.type, operand.dimensions) for operand in arguments):
        return
    sizes = [operand.dimensions for operand in arguments]
    count = len(main.input_indexes)
    segment = graph.first(tuple(sizes[:count]), tuple(sizes[count:]))
    for rewrite in segment.lowering.rewrites:
        if isinstance(rewrite.where, Place):
            yield rewrite


def _evaluated(graph: CompiledGraph, deadline_ns: int) -> Sequence[bytes] | None:
    """The contents of the outputs of a graph without inputs; None if an operation fails."""
    subgraph = graph.subgraph
    operands = [subgraph.operands[index] for index in subgraph.output_indexes]
    dimensions = tuple([operand.dimensions for operand in operands])
    segment = graph.first((), dimensions, deadline_ns=deadline_ns)
    if not segment.is_whole:
        return None
    blocks = [address.Block(byte_size(operand)) for operand in watched(operands)]
    if segment.program is not None:
        frame = segment.frame()
        frame.bind([block.address for block in blocks], 0)
        frame.set_deadline(deadline_ns)
        code = segment.program.walk(frame.walk_block, 0)
        if code == ResultCode.MISSED_DEADLINE_TRANSIENT:
            raise TooLate(frame.program.origins[frame.stopped()][0])
        if code:
            return None
    return [
        address.read(block.address, byte_size(operand))
        for block, operand in watched(zip(blocks, operands, strict=True))
    ]
