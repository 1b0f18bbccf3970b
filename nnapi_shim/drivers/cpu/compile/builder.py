"""From a graph and known shapes to steps: binds, resolves, lowers one operation at a time."""

from collections.abc import Callable, Collection, Container, Sequence

from nnapi_shim import address
from nnapi_shim.drivers.cpu import lowering, passes
from nnapi_shim.drivers.cpu.compile.constants import Constants, OutOfTime, Packing
from nnapi_shim.drivers.cpu.compile.fused import MOVED, Fused, MovedActivation
from nnapi_shim.drivers.cpu.compile.inlining import Referenced
from nnapi_shim.drivers.cpu.compile.layout import Placed, assemble
from nnapi_shim.drivers.cpu.compile.suspension import NeedsCounts, NeedsValue
from nnapi_shim.drivers.cpu.lowering.copying import COPY
from nnapi_shim.drivers.cpu.lowering.half_precision import HALVED
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.program import FIRST_ARGUMENT_SLOT, Program
from nnapi_shim.drivers.cpu.program.record import Alias, At, Deferred, Step
from nnapi_shim.errors import NnapiError, Place, Where, op_failed
from nnapi_shim.hal.enums import OperandLifeTime, OperandType, OperationType
from nnapi_shim.hal.quantization import decoded
from nnapi_shim.hal.types import Dimensions, Operand, Operation, Subgraph, byte_size
from nnapi_shim.hints import Any, cast
from nnapi_shim.limits import TooLate, look, watched
from nnapi_shim.operations import bound_operand, bound_operation
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.resolve import merge_dimensions, resolve, set_output

L = OperandLifeTime
CONTROL_FLOW = (OperationType.IF, OperationType.WHILE)


Control = Callable[["Builder", Operation], None]


class Builder:
    """Lowers one graph, in the order of its operations; graphs of IF and WHILE become part of it.

    Operands are known by their index in `operands`, to which inlined graphs add theirs.

    omitted: indexes of the graph's inputs that the run leaves out.
    owned: the outputs have no memory of the caller's; they stay in the arena like temporaries.
    control: lowers an IF or WHILE.
    """

    def __init__(
        self,
        library: KernelLibrary,
        referenced: Referenced,
        graph: Subgraph,
        constants: Constants,
        input_dimensions: Sequence[Dimensions],
        output_dimensions: Sequence[Dimensions],
        omitted: Container[int] = (),
        owned: bool = False,
        *,
        control: "Control",
    ) -> None:
        self.library = library
        self.referenced = referenced
        self.graph = graph
        self.constants = constants
        self._control = control
        self.omitted = omitted
        self.operands: list[Operand] = list(graph.operands)
        self.constant_addresses = constants.addresses(graph)
        self.values: dict[int, bytes] = {}
        """What the run has told of operands whose contents decide shapes."""
        self.deadline_ns = 0
        """time.monotonic_ns() after which it ends with TooLate, as in limits.py; 0 for never."""
        self.steps: list[Placed] = []
        self.joined: Sequence[passes.Joined] = ()
        """What passes did to the steps of the last program."""
        self.loops: list[tuple[int, int]] = []
        """First and last step of every loop."""
        self._packing = Packing()
        self.failure: NnapiError | None = None
        self.aliases: dict[int, int] = {}
        self.settled: set[int] = set()
        """Aliases whose memory is that of an output: they cannot become another's."""
        self.place, self.base, self.depth = "", 0, 0
        """Where inlined operations come from, for messages, the first operand of their graph, and
        how many graphs are around them.
        """
        self.bound: dict[int, BoundOperand] = {}
        arguments = graph.input_indexes if owned else (*graph.input_indexes, *graph.output_indexes)
        self.slots: dict[Any, int] = {
            index: FIRST_ARGUMENT_SLOT + position for position, index in enumerate(arguments)
        }
        """Operand or Buffer -> slot of its address."""
        for index, dimensions in zip(
            (*graph.input_indexes, *graph.output_indexes),
            (*input_dimensions, *output_dimensions),
            strict=True,
        ):
            if index in omitted:  # nothing is given: what is declared stays
                dimensions = graph.operands[index].dimensions
            self.bound[index] = self._bind(index, dimensions)
        self.next_operation = 0

    def fork(self) -> "Builder":
        """A builder that goes on from here, with new steps."""
        other: Builder = object.__new__(Builder)
        other.__dict__ = dict(self.__dict__)
        for name in ("operands", "constant_addresses", "values", "aliases", "settled", "slots"):
            setattr(other, name, getattr(self, name).copy())
        other.bound = {index: operand.copy() for index, operand in [*self.bound.items()]}
        other.steps, other.loops = [], []
        other._packing = Packing()
        return other

    def attempt(self, action: Callable[[], None], outputs: Sequence[int]) -> None:
        """Run an action that adds operands and steps, and sets of the operands that there are only
        `outputs`. If it raises, nothing of it remains.
        """
        operands, steps, loops = len(self.operands), len(self.steps), len(self.loops)
        before = {index: self.operand(index).copy() for index in outputs}
        try:
            action()
        except BaseException:
            for index in range(operands, len(self.operands)):
                for table in (self.bound, self.constant_addresses, self.aliases):
                    table.pop(index, None)
                self.settled.discard(index)
            del self.operands[operands:], self.steps[steps:], self.loops[loops:]
            self.bound.update(before)
            raise

    # Binding

    def _bind(self, index: int, dimensions: Dimensions) -> BoundOperand:
        bound = bound_operand(index, self.operands[index], dimensions)
        halved = bound.type is OperandType.TENSOR_FLOAT32 and self.constants.halved
        if halved and (self.constant_addresses.get(index), dimensions) in halved:
            bound.value = HALVED
        return bound

    def operand(self, index: int) -> BoundOperand:
        """The operand as this run knows it."""
        found = self.bound.get(index)
        if found is None:
            found = self.bound[index] = self._bind(index, self.operands[index].dimensions)
        return found

    def owner(self, index: int) -> int:
        """The operand whose memory an operand shares: itself, or what it is an alias of."""
        return self.aliases.get(index, index)

    def is_omitted(self, index: int) -> bool:
        """Whether an operand has no value in this run."""
        owner = self.owner(index)
        return self.operands[owner].lifetime is L.NO_VALUE or owner in self.omitted

    def value(self, index: int) -> bytes:
        """Contents of an operand; raises NeedsValue for what only the run knows."""
        owner = self.owner(index)
        where = self.constant_addresses.get(owner)
        if where is not None:
            return address.read(where, byte_size(self.operands[owner]))
        if owner not in self.values:
            raise NeedsValue(owner)
        return self.values[owner]

    def _input(self, index: int, is_value: bool) -> Any:
        if self.is_omitted(index):
            return None
        if is_value:
            operand = self.operands[index]
            value = decoded(operand.type, self.value(index))
            return MovedActivation(value) if operand.extension_data == MOVED else value
        return self.operand(index)

    # Lowering

    def lower_all(self) -> None:
        """Lower the operations from where the last call stopped.

        An operation that cannot run ends the program; its error is kept in `failure`, for the
        computation to raise. Raises a Wait in front of an operation that needs the run to go on.
        """
        operations = self.graph.operations
        while self.next_operation < len(operations) and self.failure is None:
            item = operations[self.next_operation]
            try:
                self.lower(item)
            except NnapiError as error:
                self.failure = error
            self.next_operation += 1

    def place_of(self, item: Operation | Fused) -> Where:
        """Name of an operation in messages; a Place unless it comes from an inlined graph."""
        place = Place("operation", item.number, OperationType(item.type).name)
        return f"{self.place}{place}" if self.place else place

    def lower(self, item: Operation | Fused) -> None:
        """Append the steps of an operation."""
        if self.deadline_ns:
            look(self.place_of(item))
        if item.type in CONTROL_FLOW:
            self._control(self, cast("Operation", item))
            return
        try:
            if isinstance(item, Fused):
                self._lower_fused(item)
            else:
                self._lower(item)
        except NnapiError as error:
            raise error.at(self.place_of(item)) from None

    def _lower_fused(self, item: Fused) -> None:
        for index in item.inputs:
            if self.is_omitted(index):
                raise op_failed(
                    f"input is omitted; {item.type.name} needs it", "operation.input.omitted"
                )
        for index in item.outputs:
            self.set_dimensions(index, self.operands[index].dimensions)
        steps = item.lower([*map(self.operand, item.inputs)], [*map(self.operand, item.outputs)])
        self._append(steps, self.place_of(item))

    def _lower(self, item: Operation) -> None:
        op = bound_operation(item, self.operands, self._input, self.operand, self.base)
        hollow = resolve(op)
        place = self.place_of(item)
        if op.match.operation.data_dependent:
            self.add(lowering.lower(op), op, place)
            return
        if not all(0 in output.dimensions or output in hollow for output in op.outputs):
            self.add(lowering.lower(op), op, place)
        self._clear(hollow, op, place)

    def resume(self, wait: NeedsCounts, numbers: tuple[int, ...]) -> None:
        """Go on with an operation whose output sizes are known now."""
        op = wait.op
        outputs = [self.operand(output.index) for output in op.outputs]
        dimensions, steps = wait.deferred.finish(numbers)
        self.next_operation += 1
        hollow = []
        try:
            for output, name, sizes in zip(outputs, op.match.output_names, dimensions, strict=True):
                if not set_output(output, name, sizes, output.scale, output.zero_point):
                    hollow.append(output)
        except NnapiError as error:
            self.failure = error.at(wait.place)
            return
        self.add(steps, op, wait.place)
        self._clear(hollow, op, wait.place)

    def _clear(self, hollow: Sequence[BoundOperand], op: BoundOperation, place: Where) -> None:
        """Append steps that set outputs to 0."""
        for output in hollow:
            from nnapi_shim.drivers.cpu.lowering.strided import filled

            self.add(filled(output, (byte_size(output),), (1,), b"\0"), op, place)

    def add(self, steps: Sequence[Any], op: BoundOperation, place: Where) -> None:
        """Append steps; `once` steps on constants are run by `pack` instead."""
        for step in steps:
            if isinstance(step, Deferred):
                raise NeedsCounts(step, op, place)
            self._append([step], place)

    def _append(self, steps: Sequence[Step | Alias], place: Where) -> None:
        for step in steps:
            if isinstance(step, Alias):
                self._alias(step, place)
            elif not (step.once and self._filled(step, place)):
                self.steps.append(Placed(step, place))

    def _filled(self, step: Step, place: Where) -> bool:
        """Put a `once` step off if all that it reads is constant; whether it was."""
        return self.constants.fill(step, self._constant_address, self._packing, place)

    def begin_packing(self) -> None:
        """Let another thread begin with the steps that were put off."""
        self.constants.begin_packing(self.library, self._packing, self.deadline_ns)

    def pack(self) -> None:
        """Run the steps that were put off."""
        packing, self._packing = self._packing, Packing()
        try:
            self.constants.pack(self.library, packing, self.deadline_ns)
        except OutOfTime as found:
            raise TooLate(found.where) from None

    def _alias(self, alias: Alias, place: Where) -> None:
        source, target = alias.source, alias.target
        if target.index in self.slots or target.index in self.settled:
            self.copy(source, target, place)
        else:
            self.aliases[target.index] = self.owner(source.index)

    def copy(self, source: BoundOperand, target: BoundOperand, place: Where) -> None:
        """Append a copy of all bytes of an operand."""
        size = byte_size(target)
        if size:
            step = Step(COPY, "copy", input=source, output=target, bytes=size)
            self.steps.append(Placed(step, place))

    def _constant_address(self, operand: BoundOperand) -> int | None:
        return self.constant_addresses.get(self.owner(operand.index))

    def set_dimensions(self, index: int, dimensions: Dimensions) -> None:
        """Merge what a graph computed into an operand; raises OP_FAILED where they contradict."""
        operand = self.operand(index)
        operand.dimensions = merge_dimensions(operand.dimensions, dimensions)

    # Assembly

    def root(self, value: Any) -> Any:
        """The operand or Buffer behind a field's value, aliases followed."""
        while type(value) is At:
            value = value.base
        if type(value) is BoundOperand:
            return self.aliases.get(value.index, value.index)
        return value

    def needed_later(self) -> set[Any]:
        """Operands that operations not lowered yet read, and the graph's own outputs."""
        rest = self.graph.operations[self.next_operation :]
        later = {index for item in rest for index in item.inputs} | set(self.graph.output_indexes)
        return {self.owner(index) for index in later}

    def written(self) -> list[int]:
        """Positions of the graph's outputs that the steps write."""
        roots = {
            self.root(placed.step.fields[name])
            for placed in watched(self.steps)
            for name in placed.step.writes
        }
        return [at for at, index in enumerate(self.graph.output_indexes) if index in roots]

    def program(self, kept: Collection[Any] = ()) -> tuple[Program, dict[Any, int]]:
        """The steps as a program, and where in its arena the operands and Buffers of `kept` lie
        after it has run.
        """
        self.joined = passes.on_steps(self, kept)
        return assemble(self, kept)
