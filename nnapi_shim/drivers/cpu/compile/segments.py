"""A segment: a compiled part of a graph, and the segments that follow it.

Most graphs are one segment. Where the lowering is suspended (the contents of an operand decide
shapes, the data decides the sizes of outputs, an IF or WHILE depends on the run), a segment ends,
and the next one depends on the results of the run. The segment keeps it under these results, so
that a run with equal results lowers nothing.
"""

from collections.abc import Sequence

from nnapi_shim.drivers.cpu.compile.graph_lowering import GraphLowering
from nnapi_shim.drivers.cpu.compile.suspension import NeedsCounts, Suspension
from nnapi_shim.drivers.cpu.program.program import FIRST_ARGUMENT_SLOT, Frame, Program
from nnapi_shim.hal.types import OutputShape, byte_size
from nnapi_shim.hints import Any
from nnapi_shim.limits import until

MAX_KEPT = 16
"""Segments that a table keeps: those that follow one segment, or the first ones of a graph."""


def keep(table: dict[Any, "Segment"], key: Any, segment: "Segment") -> "Segment":
    """Add to a table; where it is full, the oldest entry is removed."""
    while len(table) >= MAX_KEPT:
        table.pop(next(iter([*table])), None)  # of a copy: other threads change it
    table[key] = segment
    return segment


class Segment:
    """Steps that run without Python.

    lowering: the lowering of the graph up to the end of this segment.
    program: the steps, None if there are none.
    kept: offsets in the arena of what later segments read; their slots follow the other slots.
    suspension: the reason why the segment ends; None in the last segment.
    failure: the error of an operation that cannot run.
    shapes: dimensions of the graph's outputs, as far as they are known.
    needed: per output that the steps write, its position and its bytes.
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
        with until(lowering.deadline_ns):
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
        """A segment from the cache, which is all of a graph. It has no `lowering` and no `slots`:
        no segment follows it.
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
        if not lowering.steps:
            return
        self.program, offsets = lowering.program(kept)
        for key, offset in offsets.items():
            self.slots[key] = FIRST_ARGUMENT_SLOT + len(self.slots)
            self.kept.append(offset)

    @property
    def is_whole(self) -> bool:
        """Whether it is all of a graph, ready to run."""
        return self.suspension is None and self.failure is None

    def frame(self) -> Frame:
        """A frame for one run; its user puts it back into `frames`."""
        assert self.program is not None
        try:
            return self.frames.pop()
        except IndexError:
            return Frame(self.program)

    def next_lowering(self, deadline_ns: int) -> GraphLowering:
        """The lowering of the next segment, with the deadline of the run that needs it."""
        return self.lowering.fork(self.slots, deadline_ns)


def _buffers(lowering: GraphLowering) -> set[Any]:
    """The scratch memory of an operation that is not finished."""
    roots = (
        lowering.operands.root(scheduled.step.fields[name])
        for scheduled in lowering.steps
        for _, name in scheduled.step.record.addresses
    )
    return {root for root in roots if root is not None and not isinstance(root, int | bytes)}
