"""A run of a graph of several segments: goes from segment to segment, and from graph to graph."""

from collections.abc import Callable, Sequence
from struct import unpack
from time import monotonic_ns

from nnapi_shim import address
from nnapi_shim.drivers.cpu.compile.builder import Builder
from nnapi_shim.drivers.cpu.compile.segments import Graph, Segment, keep
from nnapi_shim.drivers.cpu.compile.suspension import NeedsControl, NeedsCounts, NeedsValue
from nnapi_shim.drivers.cpu.program.program import FIRST_ARGUMENT_SLOT, Frame, Program
from nnapi_shim.errors import NnapiError, Where
from nnapi_shim.hal.enums import OperationType, ResultCode
from nnapi_shim.hal.types import Dimensions, Operation, byte_size
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.operations import trampoline
from nnapi_shim.operations.resolve import given_dimensions
from nnapi_shim.operations.trampoline import Call


def compiled_walk(program: Program, around: Sequence[Where]) -> Callable[[int, int], int]:
    """What runs a program: one compiled call for all of its steps."""
    del around  # nobody is told
    return program.walk


walk_of = [compiled_walk]
"""What runs are bound with: another function while they are observed (stepping.py)."""


class Located(NamedTuple):
    """Contents of an operand in this run."""

    address: int
    dimensions: Dimensions


class Insufficient(Exception):  # noqa: N818 (a result, not an error)
    """A buffer of the caller is too small: which outputs do not fit, and all shapes so far."""

    def __init__(self, segment: Segment, positions: set[int]) -> None:
        super().__init__(positions)
        self.segment = segment
        self.positions = positions


class Held:
    """Frames and memory that results lie in, until they are let go."""

    def __init__(self) -> None:
        self._frames: list[tuple[Segment, Frame]] = []
        self._blocks: list[address.Block] = []

    def frame(self, segment: Segment) -> Frame:
        """A frame of a segment, held from now on."""
        frame = segment.frame()
        self._frames.append((segment, frame))
        return frame

    def copy(self, source: int, length: int) -> int:
        """Address of a copy of `length` bytes, held from now on."""
        block = address.Block(length)
        address.copy(block.address, source, length)
        self._blocks.append(block)
        return block.address

    def zeros(self, length: int) -> int:
        """Address of `length` bytes of 0, held from now on."""
        block = address.Block(length)
        self._blocks.append(block)
        return block.address

    def join(self, other: "Held") -> None:
        """Hold what another one holds."""
        self._frames += other._frames
        self._blocks += other._blocks

    def release(self) -> None:
        """Give the frames back for other runs."""
        for segment, frame in self._frames:
            segment.frames.append(frame)
        self._frames, self._blocks = [], []


class Run:
    """One run of a prepared model.

    graphs: those that IF and WHILE refer to.
    deadline_ns: time.monotonic_ns() after which it ends with MISSED_DEADLINE_TRANSIENT, or 0.
    """

    def __init__(self, graphs: Sequence[Graph], loop_timeout_ns: int, deadline_ns: int) -> None:
        self._graphs = graphs
        self._loop_timeout_ns = loop_timeout_ns
        self._deadline_ns = deadline_ns
        self._around: list[Where] = []
        """Where the graphs are run that are around the one that runs."""

    def segments(
        self, segment: Segment, addresses: list[int], capacities: Sequence[int], held: Held
    ) -> Segment:
        """Run a segment and all that follow; the last one.

        addresses: of the arguments, in the order of their slots; those of what is kept follow.
        capacities: bytes that each output has room for.
        Raises Insufficient, TooLate, and NnapiError for what fails.
        """
        return trampoline.run(self._segments(segment, addresses, capacities, held))

    def _segments(
        self,
        segment: Segment,
        addresses: list[int],
        capacities: Sequence[int] | None,
        held: Held,
    ) -> Call[Segment]:
        """The same of any graph; capacities: None if outputs are not the caller's."""
        while True:
            if segment.failure is not None:
                raise segment.failure.again()
            if capacities is not None:
                short = {at for at, length in segment.needed if capacities[at] < length}
                if short:
                    raise Insufficient(segment, short)
            if segment.program is not None:
                self._walk(segment, addresses, held)
            wait = segment.wait
            if wait is None:
                return segment
            if isinstance(wait, NeedsValue):
                segment = self._after_value(segment, wait, addresses)
            elif isinstance(wait, NeedsCounts):
                segment = self._after_counts(segment, wait, addresses)
            else:
                assert isinstance(wait, NeedsControl)
                segment = yield self._after_control(segment, wait.item, addresses, capacities, held)

    def _walk(self, segment: Segment, addresses: list[int], held: Held) -> None:
        frame = held.frame(segment)
        frame.bind(addresses, self._loop_timeout_ns)
        frame.set_deadline(self._deadline_ns)
        code = walk_of[0](frame.program, self._around)(frame.walk_block, 0)
        if code:
            raise stopped(frame, code)
        addresses += [frame.arena + offset for offset in segment.kept]

    def _after_value(self, segment: Segment, wait: NeedsValue, addresses: list[int]) -> Segment:
        operand = segment.builder.operand(wait.operand)
        length = byte_size(operand)
        data = address.read(_address(segment, wait.operand, addresses), length) if length else b""
        following = segment.following.get(data)
        if following is None:
            builder = segment.next_builder(self._deadline_ns)
            builder.values[wait.operand] = data
            following = keep(segment.following, data, Segment(builder))
        return following

    def _after_counts(self, segment: Segment, wait: NeedsCounts, addresses: list[int]) -> Segment:
        counts = wait.deferred.counts
        data = address.read(_address(segment, counts, addresses), counts.length)
        following = segment.following.get(data)
        if following is None:
            builder = segment.next_builder(self._deadline_ns)
            builder.resume(wait, unpack(f"<{len(data) // 8}q", data))
            following = keep(segment.following, data, Segment(builder))
        return following

    # IF and WHILE

    def _after_control(
        self,
        segment: Segment,
        item: Operation,
        addresses: list[int],
        capacities: Sequence[int] | None,
        held: Held,
    ) -> Call[Segment]:
        results = yield self._control(segment, item, addresses, held)
        key = tuple([result.dimensions for result in results])
        following = segment.following.get(key)
        if following is None:
            builder = _with_results(segment, item, key, self._deadline_ns)
            following = keep(segment.following, key, Segment(builder))
        if following.failure is not None:
            raise following.failure.again()
        positions = {index: at for at, index in enumerate(segment.builder.graph.output_indexes)}
        for index, result in zip(item.outputs, results, strict=True):
            length = byte_size(following.builder.operand(index))
            if length and 0 in result.dimensions:  # a declared size won: there is no data
                result = result._replace(address=held.zeros(length))
            if index not in segment.slots:
                addresses.append(result.address)
                continue
            assert capacities is not None
            if capacities[positions[index]] < length:
                raise Insufficient(following, {positions[index]})
            if length:
                address.copy(_address(segment, index, addresses), result.address, length)
        return following

    def _control(
        self, segment: Segment, item: Operation, addresses: list[int], held: Held
    ) -> Call[list[Located]]:
        builder = segment.builder
        place = builder.place_of(item)
        graphs = [
            self._graphs[builder.operands[index].location.offset]
            for index in item.inputs
            if builder.operands[index].type.name == "MODEL"
        ]
        given = [
            self._located(segment, index, addresses)
            for index in item.inputs
            if builder.operands[index].type.name != "MODEL"
        ]
        if item.type is OperationType.WHILE:
            count = len(item.outputs)
            carried: list[Located]
            carried = yield self._loop(graphs[0], graphs[1], given, count, place, held)
            return carried
        condition = given[0]
        assert condition is not None
        chosen = address.read(condition.address, 1) != b"\0"
        graph, word = (graphs[0], "then") if chosen else (graphs[1], "else")
        results: list[Located]
        results = yield self._graph(graph, given[1:], f"{place}, {word}", held)
        return results

    def _located(self, segment: Segment, index: int, addresses: list[int]) -> Located | None:
        builder = segment.builder
        if builder.is_omitted(index):
            return None
        dimensions = builder.operand(index).dimensions
        return Located(_address(segment, index, addresses), dimensions)

    def _loop(
        self,
        condition: Graph,
        body: Graph,
        given: list[Located | None],
        output_count: int,
        place: Where,
        held: Held,
    ) -> Call[list[Located]]:
        """The operands that a WHILE carries, after its last round."""
        started = monotonic_ns()
        state = given
        round_held = Held()
        while True:
            test_held = Held()
            (test,) = yield self._graph(condition, state, f"{place}, condition", test_held)
            goes_on = address.read(test.address, 1) != b"\0"
            test_held.release()
            if not goes_on:
                break
            self._check_time(started, place)
            next_held = Held()
            results = yield self._graph(body, state, f"{place}, body", next_held)
            state = [*results, *given[len(results) :]]
            round_held.release()
            round_held = next_held
        held.join(round_held)
        carried = []
        for position, result in enumerate(state[:output_count]):
            if result is None:
                raise NnapiError(
                    ResultCode.OP_FAILED,
                    f"{place}: input {position} is omitted",
                    "while.output-omitted",
                )
            if result is given[position]:
                operand = body.subgraph.operands[body.subgraph.input_indexes[position]]
                length = byte_size(operand._replace(dimensions=result.dimensions))
                result = result._replace(address=held.copy(result.address, length))
            carried.append(result)
        return carried

    def _check_time(self, started: int, place: Where) -> None:
        now = monotonic_ns()
        late = self._deadline_ns and now >= self._deadline_ns
        if late or now - started > self._loop_timeout_ns:
            what = "the computation" if late else "the loop"
            raise NnapiError(
                ResultCode.MISSED_DEADLINE_TRANSIENT,
                f"{place}: {what} took longer than it may",
                "execution.deadline.passed" if late else "while.timeout",
            )

    def _graph(
        self, graph: Graph, given: Sequence[Located | None], place: Where, held: Held
    ) -> Call[list[Located]]:
        """Run a graph on these inputs; its outputs lie in what is held then."""
        self._around.append(place)
        outputs: list[Located]
        try:
            outputs = yield self._outputs(graph, given, held)
        except NnapiError as error:
            raise trampoline.at_depth(error, place, len(self._around) - 1) from None
        finally:
            self._around.pop()
        return outputs

    def _outputs(
        self, graph: Graph, given: Sequence[Located | None], held: Held
    ) -> Call[list[Located]]:
        subgraph = graph.subgraph
        dimensions = tuple(
            [
                () if item is None else _taken(subgraph.operands[index].dimensions, item, position)
                for position, (index, item) in enumerate(
                    zip(subgraph.input_indexes, given, strict=True)
                )
            ]
        )
        segment = graph.first(
            dimensions,
            tuple([subgraph.operands[index].dimensions for index in subgraph.output_indexes]),
            tuple([position for position, item in enumerate(given) if item is None]),
            owned=True,
            deadline_ns=self._deadline_ns,
        )
        addresses = [0 if item is None else item.address for item in given]
        last = yield self._segments(segment, addresses, None, held)
        outputs = []
        for index, shape in zip(subgraph.output_indexes, last.shapes, strict=True):
            where = _address(last, index, addresses)
            slot = last.slots.get(last.builder.owner(index))
            if slot is not None and slot - FIRST_ARGUMENT_SLOT < len(given):
                where = held.copy(where, byte_size(last.builder.operand(index)))
            outputs.append(Located(where, shape.dimensions))
        return outputs


def _taken(declared: Dimensions, given: Located, position: int) -> Dimensions:
    try:
        return given_dimensions(declared, given.dimensions)
    except NnapiError as error:
        raise error.at(f"input {position}") from None


def _with_results(
    segment: Segment, item: Operation, key: tuple[Dimensions, ...], deadline_ns: int
) -> Builder:
    """The builder behind an IF or WHILE that the run went through."""
    builder = segment.next_builder(deadline_ns)
    for position, (index, dimensions) in enumerate(zip(item.outputs, key, strict=True)):
        try:
            builder.set_dimensions(index, dimensions)
        except NnapiError as error:
            builder.failure = error.at(f"{builder.place_of(item)}: output {position}")
        if index not in builder.slots:
            builder.slots[index] = FIRST_ARGUMENT_SLOT + len(builder.slots)
    builder.next_operation += 1
    return builder


def _address(segment: Segment, value: Any, addresses: Sequence[int]) -> int:
    """Address of an operand or Buffer after a segment has run; 0 for one without bytes."""
    owner = segment.builder.owner(value) if isinstance(value, int) else value
    constant = segment.builder.constant_addresses.get(owner)
    if constant is not None:
        return constant
    slot: int | None = segment.slots.get(owner)
    if slot is None:
        assert not byte_size(segment.builder.operand(owner)), f"operand {owner} has no place"
        return 0
    return addresses[slot - FIRST_ARGUMENT_SLOT]


def stopped(frame: Frame, code: int) -> NnapiError:
    """The error of a walk that a step stopped."""
    where, step = frame.program.origins[frame.stopped()]
    if code == ResultCode.MISSED_DEADLINE_TRANSIENT:
        is_loop = step.kernel == "loop_test"
        what = "the loop" if is_loop else "the computation"
        return NnapiError(
            ResultCode(code),
            f"{where}: {what} took longer than it may",
            "while.timeout" if is_loop else "execution.deadline.passed",
        )
    if step.kernel == "fail":
        return NnapiError(ResultCode(code), step.complaint, "if.branch")
    from nnapi_shim.drivers.cpu.run.explanation import explanation

    refused = explanation(step.kernel, frame, frame.stopped())
    error = refused or NnapiError(ResultCode(code), step.complaint, "operation.value")
    return error.at(where)
