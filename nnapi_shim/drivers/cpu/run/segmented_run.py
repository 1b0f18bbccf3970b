"""Runs a graph of several segments, and lowers the next segment unless an earlier run had equal
results.
"""

from struct import unpack

from nnapi_shim import address
from nnapi_shim.drivers.cpu.compile.compiled_graph import CompiledGraph
from nnapi_shim.drivers.cpu.compile.graph_lowering import GraphLowering
from nnapi_shim.drivers.cpu.compile.segments import Segment, keep
from nnapi_shim.drivers.cpu.compile.suspension import NeedsControl, NeedsCounts, NeedsValue
from nnapi_shim.drivers.cpu.program.program import FIRST_ARGUMENT_SLOT
from nnapi_shim.drivers.cpu.run.control_flow import Located, branch, loop
from nnapi_shim.drivers.cpu.run.frame_lease import FrameLease
from nnapi_shim.drivers.cpu.run.walk import stopped, walk_of
from nnapi_shim.errors import NnapiError, Where
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions, Operation, byte_size
from nnapi_shim.hints import Any, Sequence
from nnapi_shim.operations import trampoline
from nnapi_shim.operations.resolve import given_dimensions
from nnapi_shim.operations.trampoline import Call


class Insufficient(Exception):  # noqa: N818 (a result, not an error)
    """Output buffers are too small. positions: of these outputs. segment: has the known shapes."""

    def __init__(self, segment: Segment, positions: set[int]) -> None:
        super().__init__(positions)
        self.segment = segment
        self.positions = positions


class SegmentedRun:
    """One run of a prepared model.

    graphs: the graphs that IF and WHILE refer to.
    deadline_ns: time.monotonic_ns() after which it raises MISSED_DEADLINE_TRANSIENT; 0 for never.
    """

    def __init__(
        self, graphs: Sequence[CompiledGraph], loop_timeout_ns: int, deadline_ns: int
    ) -> None:
        self._graphs = graphs
        self._loop_timeout_ns = loop_timeout_ns
        self._deadline_ns = deadline_ns
        self._around: list[Where] = []
        """The positions of the enclosing graphs, outermost first."""

    def segments(
        self, segment: Segment, addresses: list[int], capacities: Sequence[int], lease: FrameLease
    ) -> Segment:
        """Run a segment and its successors; returns the last one.

        addresses: of the arguments, in the order of their slots; addresses of kept memory are
            appended.
        capacities: bytes of each output buffer.
        Raises Insufficient, TooLate, and NnapiError.
        """
        return trampoline.run(self._segments(segment, addresses, capacities, lease))

    def _segments(
        self,
        segment: Segment,
        addresses: list[int],
        capacities: Sequence[int] | None,
        lease: FrameLease,
    ) -> Call[Segment]:
        """`segments` of any graph; capacities: None if the outputs are not the caller's buffers."""
        while True:
            if segment.failure is not None:
                raise segment.failure.again()
            if capacities is not None:
                short = {at for at, length in segment.needed if capacities[at] < length}
                if short:
                    raise Insufficient(segment, short)
            if segment.program is not None:
                self._walk(segment, addresses, lease)
            suspension = segment.suspension
            if suspension is None:
                return segment
            if isinstance(suspension, NeedsValue):
                segment = self._after_value(segment, suspension, addresses)
            elif isinstance(suspension, NeedsCounts):
                segment = self._after_counts(segment, suspension, addresses)
            else:
                assert isinstance(suspension, NeedsControl)
                segment = yield self._after_control(
                    segment, suspension.item, addresses, capacities, lease
                )

    def _walk(self, segment: Segment, addresses: list[int], lease: FrameLease) -> None:
        frame = lease.frame(segment)
        frame.bind(addresses, self._loop_timeout_ns)
        frame.set_deadline(self._deadline_ns)
        code = walk_of[0](frame.program, self._around)(frame.walk_block, 0)
        if code:
            raise stopped(frame, code)
        addresses += [frame.arena + offset for offset in segment.kept]

    def _after_value(
        self, segment: Segment, suspension: NeedsValue, addresses: list[int]
    ) -> Segment:
        operand = segment.lowering.operands.bound(suspension.operand)
        length = byte_size(operand)
        data = (
            address.read(_address(segment, suspension.operand, addresses), length)
            if length
            else b""
        )
        following = segment.following.get(data)
        if following is None:
            lowering = segment.next_lowering(self._deadline_ns)
            lowering.operands.values[suspension.operand] = data
            following = keep(segment.following, data, Segment(lowering))
        return following

    def _after_counts(
        self, segment: Segment, suspension: NeedsCounts, addresses: list[int]
    ) -> Segment:
        counts = suspension.deferred.counts
        data = address.read(_address(segment, counts, addresses), counts.length)
        following = segment.following.get(data)
        if following is None:
            lowering = segment.next_lowering(self._deadline_ns)
            lowering.resume(suspension, unpack(f"<{len(data) // 8}q", data))
            following = keep(segment.following, data, Segment(lowering))
        return following

    # IF and WHILE

    def _after_control(
        self,
        segment: Segment,
        item: Operation,
        addresses: list[int],
        capacities: Sequence[int] | None,
        lease: FrameLease,
    ) -> Call[Segment]:
        results = yield self._control(segment, item, addresses, lease)
        key = tuple([result.dimensions for result in results])
        following = segment.following.get(key)
        if following is None:
            lowering = _with_results(segment, item, key, self._deadline_ns)
            following = keep(segment.following, key, Segment(lowering))
        if following.failure is not None:
            raise following.failure.again()
        positions = {index: at for at, index in enumerate(segment.lowering.graph.output_indexes)}
        for index, result in zip(item.outputs, results, strict=True):
            length = byte_size(following.lowering.operands.bound(index))
            if length and 0 in result.dimensions:  # the declared size overrides it: no data exists
                result = result._replace(address=lease.zeros(length))
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
        self, segment: Segment, item: Operation, addresses: list[int], lease: FrameLease
    ) -> Call[list[Located]]:
        declared = segment.lowering.operands.declared
        graphs: list[CompiledGraph] = []
        inputs: list[Located | None] = []
        for index in item.inputs:
            if declared[index].type.name == "MODEL":
                graphs.append(self._graphs[declared[index].location.offset])
            else:
                inputs.append(self._located(segment, index, addresses))
        where = segment.lowering.place_of(item)
        results: list[Located]
        if item.type is OperationType.WHILE:
            count, limits = len(item.outputs), (self._loop_timeout_ns, self._deadline_ns)
            results = yield loop(self._graph, graphs, inputs, count, where, lease, limits)
        else:
            results = yield branch(self._graph, graphs, inputs, where, lease)
        return results

    def _located(self, segment: Segment, index: int, addresses: list[int]) -> Located | None:
        operands = segment.lowering.operands
        if operands.is_omitted(index):
            return None
        dimensions = operands.bound(index).dimensions
        return Located(_address(segment, index, addresses), dimensions)

    def _graph(
        self,
        graph: CompiledGraph,
        inputs: Sequence[Located | None],
        where: Where,
        lease: FrameLease,
    ) -> Call[list[Located]]:
        """Run a graph on these inputs; the lease owns its outputs."""
        self._around.append(where)
        outputs: list[Located]
        try:
            outputs = yield self._outputs(graph, inputs, lease)
        except NnapiError as error:
            raise trampoline.at_depth(error, where, len(self._around) - 1) from None
        finally:
            self._around.pop()
        return outputs

    def _outputs(
        self, graph: CompiledGraph, inputs: Sequence[Located | None], lease: FrameLease
    ) -> Call[list[Located]]:
        subgraph = graph.subgraph
        dimensions = tuple(
            [
                ()
                if item is None
                else _input_dimensions(subgraph.operands[index].dimensions, item, position)
                for position, (index, item) in enumerate(
                    zip(subgraph.input_indexes, inputs, strict=True)
                )
            ]
        )
        segment = graph.first(
            dimensions,
            tuple([subgraph.operands[index].dimensions for index in subgraph.output_indexes]),
            tuple([position for position, item in enumerate(inputs) if item is None]),
            owned=True,
            deadline_ns=self._deadline_ns,
        )
        addresses = [0 if item is None else item.address for item in inputs]
        last = yield self._segments(segment, addresses, None, lease)
        outputs = []
        for index, shape in zip(subgraph.output_indexes, last.shapes, strict=True):
            where = _address(last, index, addresses)
            slot = last.slots.get(last.lowering.operands.owner(index))
            if slot is not None and slot - FIRST_ARGUMENT_SLOT < len(inputs):
                where = lease.copy(where, byte_size(last.lowering.operands.bound(index)))
            outputs.append(Located(where, shape.dimensions))
        return outputs


def _input_dimensions(declared: Dimensions, argument: Located, position: int) -> Dimensions:
    try:
        return given_dimensions(declared, argument.dimensions)
    except NnapiError as error:
        raise error.at(f"input {position}") from None


def _with_results(
    segment: Segment, item: Operation, key: tuple[Dimensions, ...], deadline_ns: int
) -> GraphLowering:
    """The lowering that continues after an IF or WHILE with these output dimensions."""
    lowering = segment.next_lowering(deadline_ns)
    slots = lowering.operands.slots
    for position, (index, dimensions) in enumerate(zip(item.outputs, key, strict=True)):
        try:
            lowering.operands.set_dimensions(index, dimensions)
        except NnapiError as error:
            lowering.failure = error.at(f"{lowering.place_of(item)}: output {position}")
        if index not in slots:
            slots[index] = FIRST_ARGUMENT_SLOT + len(slots)
    lowering.next_operation += 1
    return lowering


def _address(segment: Segment, value: Any, addresses: Sequence[int]) -> int:
    """Address of an operand or Buffer after a segment has run; 0 if it has no bytes."""
    operands = segment.lowering.operands
    owner = operands.owner(value) if isinstance(value, int) else value
    constant = operands.constant_addresses.get(owner)
    if constant is not None:
        return constant
    slot: int | None = segment.slots.get(owner)
    if slot is None:
        assert not byte_size(operands.bound(owner)), f"operand {owner} has no memory"
        return 0
    return addresses[slot - FIRST_ARGUMENT_SLOT]
