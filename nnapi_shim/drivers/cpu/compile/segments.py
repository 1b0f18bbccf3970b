"""A segment: a compiled part of a graph, and the segments that follow it.

Most graphs are one segment. A segment ends where the lowering is suspended: shapes depend on the
contents of an operand, output sizes depend on the data, or an IF or WHILE depends on the run. The
next segment depends on the results of the run; it is cached under them, so a run with equal results
lowers nothing.
"""

from nnapi_shim.drivers.cpu.compile.graph_lowering import GraphLowering
from nnapi_shim.drivers.cpu.compile.suspension import NeedsCounts, Suspension
from nnapi_shim.drivers.cpu.program.program import FIRST_ARGUMENT_SLOT, Frame, Program
from nnapi_shim.drivers.cpu.program.threads import settled
from nnapi_shim.hal.types import OutputShape, byte_size
from nnapi_shim.hints import Any, Sequence
from nnapi_shim.limits import until

MAX_KEPT = 16
"""Segments in a table, at most: the successors of a segment, or the first segments of a graph."""


def keep(table: dict[Any, "Segment"], key: Any, segment: "Segment") -> "Segment":
    """Add a segment to a table; a full table evicts its oldest entry."""
    while len(table) >= MAX_KEPT:
        table.pop(next(iter([*table])), None)  # copied: other threads may change the table
    table[key] = segment
    return segment


class Segment:
    """Steps that run without Python.

    lowering: the lowering of the graph up to the end of this segment.
    program: the steps; None if there are none.
    kept: arena offsets of the values that later segments read; their slots follow the other slots.
    suspension: the reason why the segment ends; None in the last segment.
    failure: the error of an operation, raised when the run reaches it.
    shapes: the dimensions of the graph's outputs, as far as they are known.
    needed: position and bytes of every output that the steps write.
    """

    __slots__ = (
        "failure",
        "following",
        "frames",
        "kept",
        "lowering",
        "needed",
        "program",
        "shapes",
        "slots",
        "suspension",
    )

    def __init__(self, lowering: GraphLowering) -> None:
        self.suspension: Suspension | None = None
        self.lowering = lowering
        with until(lowering.deadline_ns), settled():
            self._compile(lowering)

    def _compile(self, lowering: GraphLowering) -> None:
        self.following: dict[Any, Segment] = {}
        self.frames: list[Frame] = []
        self.program: Program | None = None
        self.kept: list[int] = []
        try:
            lowering.lower_all()
        except Suspension as suspension:
            self.suspension = suspension
        lowering.begin_packing()
        lowering.failure = lowering.failure and lowering.failure.again()  # without its frames
        self.failure = lowering.failure
        operands = lowering.operands
        outputs = [operands.bound(index) for index in lowering.graph.output_indexes]
        self.shapes = [OutputShape(output.dimensions) for output in outputs]
        self.needed: list[tuple[int, int]] = []
        self.slots = dict(operands.slots)
        if self.failure is None:
            self._assemble(lowering, outputs)
        lowering.pack()

    @classmethod
    def loaded(
        cls, program: Program, shapes: list[OutputShape], needed: list[tuple[int, int]]
    ) -> "Segment":
        """A segment from the cache, which covers a whole graph. It has no `lowering` and no
        `slots`, because no segment follows it.
        """
        self: Segment = object.__new__(cls)
        self.suspension = self.failure = None
        self.following, self.frames, self.kept = {}, [], []
        self.program, self.shapes, self.needed = program, shapes, needed
        return self

    def _assemble(self, lowering: GraphLowering, outputs: Sequence[Any]) -> None:
        self.needed = [(position, byte_size(outputs[position])) for position in lowering.written()]
        kept: set[Any] = set()
        slots = lowering.operands.slots
        if self.suspension is not None or not slots.keys() >= set(lowering.graph.output_indexes):
            kept = lowering.needed_later()
        if isinstance(self.suspension, NeedsCounts):
            kept |= _buffers(lowering)
        if lowering.is_empty:
            return
        self.program, offsets = lowering.program(kept)
        for key, offset in offsets.items():
            self.slots[key] = FIRST_ARGUMENT_SLOT + len(self.slots)
            self.kept.append(offset)

    @property
    def is_whole(self) -> bool:
        """Whether it covers a whole graph without an error."""
        return self.suspension is None and self.failure is None

    def frame(self) -> Frame:
        """A frame for one run; the caller returns it to `frames`."""
        assert self.program is not None
        try:
            return self.frames.pop()
        except IndexError:
            return Frame(self.program)

    def next_lowering(self, deadline_ns: int) -> GraphLowering:
        """The lowering of the next segment, with the deadline of the current run."""
        return self.lowering.fork(self.slots, deadline_ns)


def _buffers(lowering: GraphLowering) -> set[Any]:
    """The Buffers of the steps: scratch memory of an operation that is not finished."""
    roots = (
        lowering.operands.root(scheduled.step.fields[name])
        for scheduled in lowering.steps
        for _, name in scheduled.step.record.addresses
    )
    return {root for root in roots if root is not None and not isinstance(root, int | bytes)}
