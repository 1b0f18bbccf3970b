"""A graph of a model, compiled once per combination of shapes."""

from nnapi_shim.drivers.cpu.compile.graph_lowering import GraphLowering
from nnapi_shim.drivers.cpu.compile.operand_table import OperandTable
from nnapi_shim.drivers.cpu.compile.segments import Segment, keep
from nnapi_shim.drivers.cpu.program.constants import Constants
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.program import Program
from nnapi_shim.hal.types import Dimensions, Operation, OutputShape, Subgraph
from nnapi_shim.hints import TYPE_CHECKING, Any, Callable
from nnapi_shim.limits import until

if TYPE_CHECKING:
    from nnapi_shim.drivers.cpu.compile.inlining import Referenced


class CompiledGraph:
    """A graph of a model, its constants, and one first segment per combination of shapes.

    optimize: rewrites the graph before the first lowering; takes the deadline of GraphLowering.
        Operands keep their indexes.
    declared: the graph before `optimize`.
    """

    def __init__(
        self,
        library: KernelLibrary,
        referenced: "Referenced | None",
        graph: Subgraph,
        constants: Constants,
        optimize: Callable[[Subgraph, int], Subgraph] | None = None,
    ) -> None:
        self.library = library
        self.referenced = referenced
        self.subgraph = graph
        self.constants = constants
        self._first: dict[Any, Segment] = {}
        self.declared = graph
        self._optimize = optimize

    def insert(
        self,
        inputs: tuple[Dimensions, ...],
        outputs: tuple[Dimensions, ...],
        program: Program,
        shapes: list[OutputShape],
        needed: list[tuple[int, int]],
    ) -> None:
        """Add a segment from the cache for runs with these dimensions."""
        keep(self._first, (inputs, outputs, ()), Segment.loaded(program, shapes, needed))

    def first(
        self,
        inputs: tuple[Dimensions, ...],
        outputs: tuple[Dimensions, ...],
        omitted: tuple[int, ...] = (),
        owned: bool = False,
        deadline_ns: int = 0,
    ) -> Segment:
        """The first segment of a run with these dimensions.

        omitted: positions of omitted inputs.
        owned: as in OperandTable. deadline_ns: as in GraphLowering; raises TooLate.
        """
        key = inputs, outputs, omitted
        segment = self._first.get(key)
        if segment is None:
            lowering = self._lowering(inputs, outputs, omitted, owned, deadline_ns)
            segment = keep(self._first, key, Segment(lowering))
        return segment

    def _lowering(
        self,
        inputs: tuple[Dimensions, ...],
        outputs: tuple[Dimensions, ...],
        omitted: tuple[int, ...],
        owned: bool,
        deadline_ns: int,
    ) -> GraphLowering:
        optimize = self._optimize
        if optimize is not None:  # two threads may both do this
            with until(deadline_ns):
                self.subgraph = optimize(self.declared, deadline_ns)
            self._optimize = None
        graph = self.subgraph
        left_out = {graph.input_indexes[position] for position in omitted}
        operands = OperandTable(graph, self.constants, inputs, outputs, left_out, owned)
        return GraphLowering(
            self.library,
            self.referenced,
            graph,
            self.constants,
            operands,
            _lower_control_flow,
            deadline_ns,
        )


def _lower_control_flow(lowering: GraphLowering, item: Operation) -> None:
    """Lower an IF or WHILE; imported on demand, because few models have them."""
    from nnapi_shim.drivers.cpu.compile import control_flow

    control_flow.lower(lowering, item)
