"""A prepared graph: segments of compiled steps, and what lies between them.

Most graphs are one segment. Where lowering has to wait for what only the run knows (the contents
of an operand that decides shapes, the sizes of outputs that the data decides, the way that an IF or
a WHILE goes), a segment ends, and what follows depends on what the run finds. It is kept with the
segment under what was found, so that a run that finds the same goes on without lowering.
"""

from collections.abc import Callable, Sequence

from nnapi_shim.drivers.cpu.compile.builder import Builder
from nnapi_shim.drivers.cpu.compile.constants import Constants
from nnapi_shim.drivers.cpu.compile.inlining import Referenced
from nnapi_shim.drivers.cpu.compile.suspension import NeedsCounts, Wait
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.program import FIRST_ARGUMENT_SLOT, Frame, Program
from nnapi_shim.hal.types import Dimensions, Operation, OutputShape, Subgraph, byte_size
from nnapi_shim.hints import Any
from nnapi_shim.limits import until

MAX_KEPT = 16
"""Ways to go on, or shapes of a graph, that are kept."""


def keep(table: dict[Any, "Segment"], key: Any, segment: "Segment") -> "Segment":
    """Add to a table, the oldest entry of which goes when it is full."""
    while len(table) >= MAX_KEPT:
        table.pop(next(iter([*table])), None)  # of a copy: other threads change it
    table[key] = segment
    return segment


class Segment:
    """Steps that run without Python, and what comes after them.

    program: the steps, None if there are none.
    kept: offsets in the arena of what later segments read; their slots follow those there are.
    wait: what the rest of the graph waits for; None in the last segment.
    failure: the error of an operation that cannot run.
    shapes: dimensions of the graph's outputs, as far as they are known.
    needed: per output that the steps write, its position and its bytes.
    """

    __slots__ = (
        "builder",
        "failure",
        "following",
        "frames",
        "kept",
        "needed",
        "program",
        "shapes",
        "slots",
        "wait",
    )

    def __init__(self, builder: Builder) -> None:
        self.wait: Wait | None = None
        self.builder = builder
        with until(builder.deadline_ns):
            self._lower(builder)

    def _lower(self, builder: Builder) -> None:
        self.following: dict[Any, Segment] = {}
        self.frames: list[Frame] = []
        self.program: Program | None = None
        self.kept: list[int] = []
        try:
            builder.lower_all()
        except Wait as found:
            self.wait = found
        builder.begin_packing()
        builder.failure = builder.failure and builder.failure.again()  # without its frames
        self.failure = builder.failure
        outputs = [builder.operand(index) for index in builder.graph.output_indexes]
        self.shapes = [OutputShape(output.dimensions) for output in outputs]
        self.needed: list[tuple[int, int]] = []
        self.slots = dict(builder.slots)
        if self.failure is None:
            self._assemble(builder, outputs)
        builder.pack()

    @classmethod
    def loaded(
        cls, program: Program, shapes: list[OutputShape], needed: list[tuple[int, int]]
    ) -> "Segment":
        """A segment that is all of a model, as it was stored. It has no `builder` and no `slots`:
        nothing follows it that would ask.
        """
        self: Segment = object.__new__(cls)
        self.wait = self.failure = None
        self.following, self.frames, self.kept = {}, [], []
        self.program, self.shapes, self.needed = program, shapes, needed
        return self

    def _assemble(self, builder: Builder, outputs: Sequence[Any]) -> None:
        self.needed = [(position, byte_size(outputs[position])) for position in builder.written()]
        kept: set[Any] = set()
        if self.wait is not None or not builder.slots.keys() >= set(builder.graph.output_indexes):
            kept = builder.needed_later()
        if isinstance(self.wait, NeedsCounts):
            kept |= _buffers(builder)
        if not builder.steps:
            return
        self.program, places = builder.program(kept)
        for key, offset in places.items():
            self.slots[key] = FIRST_ARGUMENT_SLOT + len(self.slots)
            self.kept.append(offset)

    @property
    def is_whole(self) -> bool:
        """Whether it is all of a graph, ready to run."""
        return self.wait is None and self.failure is None

    def frame(self) -> Frame:
        """A frame for one run; whoever takes it gives it back to `frames`."""
        assert self.program is not None
        try:
            return self.frames.pop()
        except IndexError:
            return Frame(self.program)

    def next_builder(self, deadline_ns: int) -> Builder:
        """A builder for what follows, with the deadline of the run that needs it."""
        following = self.builder.fork()
        following.deadline_ns = deadline_ns
        following.slots = dict(self.slots)
        return following


def _buffers(builder: Builder) -> set[Any]:
    """The scratch memory of an operation that is not finished."""
    roots = (
        builder.root(placed.step.fields[name])
        for placed in builder.steps
        for _, name in placed.step.record.addresses
    )
    return {root for root in roots if root is not None and not isinstance(root, int | bytes)}


class Graph:
    """A graph of a model, its constants, and a first segment per combination of shapes.

    rewrite: what makes of the graph the one that is lowered, once and when there is need of it,
    until a deadline as in Builder; operands keep their indexes. declared: the graph before that.
    """

    def __init__(
        self,
        library: KernelLibrary,
        referenced: Referenced,
        graph: Subgraph,
        constants: Constants,
        rewrite: Callable[[Subgraph, int], Subgraph] | None = None,
    ) -> None:
        self.library = library
        self.referenced = referenced
        self.subgraph = graph
        self.constants = constants
        self._first: dict[Any, Segment] = {}
        self.declared = graph
        self._rewrite = rewrite

    def insert(
        self,
        inputs: tuple[Dimensions, ...],
        outputs: tuple[Dimensions, ...],
        program: Program,
        shapes: list[OutputShape],
        needed: list[tuple[int, int]],
    ) -> None:
        """Give runs with these dimensions a segment that was stored."""
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

        omitted: positions of inputs that are left out.
        owned, deadline_ns: as in Builder; raises TooLate.
        """
        key = inputs, outputs, omitted
        found = self._first.get(key)
        if found is None:
            builder = self._builder(inputs, outputs, omitted, owned, deadline_ns)
            found = keep(self._first, key, Segment(builder))
        return found

    def _builder(
        self,
        inputs: tuple[Dimensions, ...],
        outputs: tuple[Dimensions, ...],
        omitted: tuple[int, ...],
        owned: bool,
        deadline_ns: int,
    ) -> Builder:
        rewrite = self._rewrite
        if rewrite is not None:  # of two threads, both may do it
            with until(deadline_ns):
                self.subgraph = rewrite(self.declared, deadline_ns)
            self._rewrite = None
        graph = self.subgraph
        builder = Builder(
            self.library,
            self.referenced,
            graph,
            self.constants,
            inputs,
            outputs,
            {graph.input_indexes[position] for position in omitted},
            owned,
            control=_control,
        )
        builder.deadline_ns = deadline_ns
        return builder


def _control(builder: Builder, item: Operation) -> None:
    """Lower an IF or WHILE, which few models have."""
    from nnapi_shim.drivers.cpu.lowering import control_flow

    control_flow.lower(builder, item)
