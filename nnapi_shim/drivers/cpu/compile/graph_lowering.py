"""Lowers a graph: resolves shapes and schedules steps, operation by operation."""

from nnapi_shim.drivers.cpu import lowering, passes
from nnapi_shim.drivers.cpu.compile.layout import assemble
from nnapi_shim.drivers.cpu.compile.operand_table import OperandTable, Use
from nnapi_shim.drivers.cpu.compile.packing import Packing
from nnapi_shim.drivers.cpu.compile.suspension import NeedsCounts, NeedsValue
from nnapi_shim.drivers.cpu.program.constants import Constants
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.program import Program
from nnapi_shim.drivers.cpu.program.record import Alias, Deferred, Step
from nnapi_shim.drivers.cpu.program.schedule import Rewrite, Schedule, ScheduledStep
from nnapi_shim.errors import NnapiError, Place, Where, op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Operation, Subgraph, byte_size
from nnapi_shim.hints import TYPE_CHECKING, Any, Callable, Container, Sequence
from nnapi_shim.limits import look, watched
from nnapi_shim.operations import matched
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.resolve import resolve, set_output

if TYPE_CHECKING:
    from nnapi_shim.drivers.cpu.compile.inlining import Referenced
    from nnapi_shim.drivers.cpu.compile.kinds import Kinds
    from nnapi_shim.drivers.cpu.compile.repeated import Block, Lowered
    from nnapi_shim.drivers.cpu.passes.fused import Fused

CONTROL_FLOW = (OperationType.IF, OperationType.WHILE)
MANY = 32
"""Repetitions from which on keys of all operations of their types are computed, and programs are
assembled block by block.
"""


class GraphLowering:
    """The lowering of one graph, in the order of its operations, up to the current operation.

    control: lowers an IF or WHILE.
    deadline_ns: time.monotonic_ns() after which it raises TooLate, as in limits.py; 0 for never.
    """

    def __init__(
        self,
        library: KernelLibrary,
        referenced: "Referenced | None",
        graph: Subgraph,
        constants: Constants,
        operands: OperandTable,
        control: Callable[["GraphLowering", Operation], None],
        deadline_ns: int,
    ) -> None:
        self.library = library
        self.referenced = referenced
        self.graph = graph
        self.constants = constants
        self.operands = operands
        self._control = control
        self.deadline_ns = deadline_ns
        self.next_operation = 0
        self.failure: NnapiError | None = None
        """The error of the operation that ended the lowering."""
        self.prefix, self.base, self.depth = "", 0, 0
        """The position of inlined operations: a prefix for messages, the index of the first operand
        of their graph, and the nesting depth.
        """
        self._begin_program()

    def _begin_program(self) -> None:
        self._entries: list[ScheduledStep | Block] = []
        self._blocks = 0
        """The number of Blocks among the entries."""
        self.loops: list[tuple[int, int]] = []
        """First and last step of every loop."""
        self._packing = Packing(self.constants)
        self._lowered: dict[Any, Lowered] = {}
        """Key of an operation -> its steps."""
        self._kinds: Kinds | None = None
        """Those of the operands, when a key is first computed."""
        self._seen: set[Any] = set()
        """Types and declared operands of operations, and types that were repeated; keys are only
        compared if one of these is equal.
        """
        self.rewrites: Sequence[Rewrite] = ()
        """The changes that passes made to the steps."""

    def fork(self, slots: dict[Any, int], deadline_ns: int) -> "GraphLowering":
        """A copy that continues at the current operation with a new program."""
        other: GraphLowering = object.__new__(GraphLowering)
        other.__dict__ = dict(self.__dict__)
        other.operands = self.operands.copy()
        other.operands.slots = dict(slots)
        other.deadline_ns = deadline_ns
        other._begin_program()
        return other

    def attempt(self, action: Callable[[], None], outputs: Sequence[int]) -> None:
        """Run an action that appends operands and steps, and changes no other operands than
        `outputs`. If it raises, all its changes are undone.
        """
        operands, steps, loops = self.operands, len(self.steps), len(self.loops)
        count = len(operands.declared)
        copies = [operands.bound(index).copy() for index in outputs]
        try:
            action()
        except BaseException:
            operands.truncate(count, copies)
            if self._kinds is not None:
                self._kinds.forget()
            del self._entries[steps:], self.loops[loops:]
            self._blocks = 0  # `steps` has made those from before
            raise

    # One operation after another

    def lower_all(self) -> None:
        """Lower the remaining operations.

        An error of an operation ends the program; the run raises it from `failure`. Raises a
        Suspension at an operation that needs results of the run.
        """
        operations = self.graph.operations
        try:
            while self.next_operation < len(operations) and self.failure is None:
                item = operations[self.next_operation]
                try:
                    self.lower(item)
                except NnapiError as error:
                    self.failure = error
                self.next_operation += 1
        finally:
            self._lowered.clear()
            self._seen.clear()

    def place_of(self, item: "Operation | Fused") -> Where:
        """Position of an operation for messages; a Place unless its graph is inlined."""
        place = Place("operation", item.number, OperationType(item.type).name)
        return f"{self.prefix}{place}" if self.prefix else place

    def lower(self, item: "Operation | Fused") -> None:
        """Append the steps of an operation."""
        if self.deadline_ns:
            look(self.place_of(item))
        try:
            if not isinstance(item, Operation):
                self._lower_fused(item)
                return
            if item.type not in CONTROL_FLOW:
                self._lower(item)
                return
        except NnapiError as error:
            raise error.at(self.place_of(item)) from None
        self._control(self, item)

    def _lower_fused(self, item: "Fused") -> None:
        operands = self.operands
        for index in item.inputs:
            if operands.is_omitted(index):
                raise op_failed(
                    f"input is omitted; {item.type.name} needs it", "operation.input.omitted"
                )
        for index in item.outputs:
            operands.set_dimensions(index, operands.declared[index].dimensions)
        bound = operands.bound
        steps = item.lower([*map(bound, item.inputs)], [*map(bound, item.outputs)])
        self._append(steps, self.place_of(item))

    def _lower(self, item: Operation) -> None:
        operands, where = self.operands, self.place_of(item)
        key = self._key(item)
        lowered = None if key is None else self._lowered.get(key)
        if lowered is not None and lowered.is_block:
            block = lowered.block(item, operands, where)
            if lowered.scheduled:
                self._entries.append(block)
                self._blocks += 1
            if self._blocks > MANY:
                self._seen.add(item.type)
            return
        if lowered is not None:
            repeated, empty_outputs = lowered.repeat(item, operands)
            self._append(repeated, where)
            self._clear(empty_outputs, where)
            return
        use = Use(item, matched(item, operands.declared, self.base), operands)
        op = use.operation(self.base)
        empty_outputs = resolve(op)
        steps: Sequence[Any] = ()
        is_deferred = op.match.operation.data_dependent
        if is_deferred or not all(
            0 in output.dimensions or output in empty_outputs for output in op.outputs
        ):
            steps = lowering.lower(op)
        if is_deferred:
            self._append_of(op, steps, where)
            return
        count = len(self._entries)
        self._append(steps, where)
        self._clear(empty_outputs, where)
        if key is not None:
            from nnapi_shim.drivers.cpu.compile.repeated import Lowered

            scheduled = [each.step for each in self._entries[count:]]  # type: ignore[union-attr]
            self._lowered[key] = Lowered(use, steps, scheduled, empty_outputs)

    def _key(self, item: Operation) -> tuple[Any, ...] | None:
        """The key of an operation if one of its type has been seen before whose first inputs, and
        outputs, had the same dimensions, scales and zero points; else None.
        """
        if item.type not in self._seen:
            declared = self.operands.declared
            like = item.type, *[declared[at][1:4] for at in item.inputs[:2] + item.outputs]
            if like not in self._seen:
                self._seen.add(like)
                return None
        if self._kinds is None:
            from nnapi_shim.drivers.cpu.compile.kinds import Kinds

            self._kinds = Kinds(self.operands)
        if self.depth:  # operands of inlined graphs change
            self._kinds.forget()
        try:
            return self._kinds.key(item)
        except (NeedsValue, NnapiError):  # lowering raises it
            return None

    def resume(self, suspension: NeedsCounts, numbers: tuple[int, ...]) -> None:
        """Continue at an operation whose output sizes the run has computed."""
        op, where = suspension.op, suspension.where
        outputs = [self.operands.bound(output.index) for output in op.outputs]
        dimensions, steps = suspension.deferred.finish(numbers)
        self.next_operation += 1
        empty_outputs = []
        try:
            for output, name, sizes in zip(outputs, op.match.output_names, dimensions, strict=True):
                if not set_output(output, name, sizes, output.scale, output.zero_point):
                    empty_outputs.append(output)
        except NnapiError as error:
            self.failure = error.at(where)
            return
        self._append(steps, where)
        self._clear(empty_outputs, where)

    # The schedule

    @property
    def steps(self) -> list[ScheduledStep]:
        """The steps; makes those of the Blocks."""
        if self._blocks:
            from nnapi_shim.drivers.cpu.compile.repeated import Block

            entries: list[ScheduledStep | Block] = []
            for entry in watched(self._entries):
                if isinstance(entry, Block):
                    where = entry.where
                    entries += [ScheduledStep(it, where) for it in entry.steps(self.operands)]
                else:
                    entries.append(entry)
            self._entries, self._blocks = entries, 0
        return self._entries  # type: ignore[return-value]

    @property
    def is_empty(self) -> bool:
        """Whether there are no steps."""
        return not self._entries

    def _append_of(self, op: BoundOperation, steps: Sequence[Any], where: Where) -> None:
        """Append the steps of an operation; raises NeedsCounts for data-dependent output sizes."""
        last = steps[-1] if steps else None
        if isinstance(last, Deferred):
            self._append(steps[:-1], where)
            raise NeedsCounts(last, op, where)
        self._append(steps, where)

    def _append(self, steps: Sequence[Step | Alias], where: Where) -> None:
        """Append steps; packing takes over `once` steps with constant inputs."""
        address_of, packing = self.operands.constant_address, self._packing
        for step in steps:
            if isinstance(step, Alias):
                self._alias(step, where)
            elif not (step.once and packing.postpone(step, address_of, where)):
                self._entries.append(ScheduledStep(step, where))

    def _clear(self, empty_outputs: Sequence[BoundOperand], where: Where) -> None:
        """Append steps that fill outputs with zeros."""
        for output in empty_outputs:
            from nnapi_shim.drivers.cpu.lowering.strided import filled

            self._append(filled(output, (byte_size(output),), (1,), b"\0"), where)

    def _alias(self, alias: Alias, where: Where) -> None:
        source, target, operands = alias.source, alias.target, self.operands
        if target.index in operands.slots or target.index in operands.pinned:
            self.copy(source, target, where)
        else:
            operands.share_memory(target.index, source.index)

    def copy(self, source: BoundOperand, target: BoundOperand, where: Where) -> None:
        """Append a step that copies all bytes of an operand."""
        if byte_size(target):
            from nnapi_shim.drivers.cpu.lowering.copying import copied_bytes

            self._entries.append(ScheduledStep(copied_bytes(source, target), where))

    # The program

    def begin_packing(self) -> None:
        """Start the `once` steps on another thread."""
        self._packing.begin(self.library, self.deadline_ns)

    def pack(self) -> None:
        """Run the `once` steps."""
        packing, self._packing = self._packing, Packing(self.constants)
        packing.run(self.library, self.deadline_ns)

    def needed_later(self) -> set[Any]:
        """The inputs of operations that are not lowered yet, and the graph's outputs."""
        rest = self.graph.operations[self.next_operation :]
        later = {index for item in rest for index in item.inputs} | set(self.graph.output_indexes)
        return {self.operands.owner(index) for index in later}

    def written(self) -> list[int]:
        """Positions of the graph's outputs that the steps write."""
        roots: set[Any] = set()
        root, owner = self.operands.root, self.operands.owner
        for entry in watched(self._entries):
            if isinstance(entry, ScheduledStep):
                roots.update([root(entry.step.fields[name]) for name in entry.step.writes])
            else:
                roots.update(map(owner, entry.written()))
        return [at for at, index in enumerate(self.graph.output_indexes) if index in roots]

    def program(self, kept: Container[Any] = ()) -> tuple[Program, dict[Any, int]]:
        """The program of the steps, and the arena offsets of the operands and Buffers of `kept`,
        which stay valid after it has run.
        """
        if self._blocks >= MANY and not kept and not self.loops:
            from nnapi_shim.drivers.cpu.compile import blocks

            program = blocks.assembled(self._entries, self.operands, self.library, self.constants)
            if program is not None:
                return program, {}
        schedule = Schedule(self.steps, self.operands, self.loops, kept)
        passes.rewrite_schedule(schedule)
        self.rewrites = schedule.rewrites
        return assemble(schedule, self.library, self.constants)
