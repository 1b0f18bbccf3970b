"""IF and WHILE between graphs: chooses a graph, or runs two in turns."""

from collections.abc import Callable, Sequence
from time import monotonic_ns

from nnapi_shim import address
from nnapi_shim.drivers.cpu.compile.compiled_graph import CompiledGraph
from nnapi_shim.drivers.cpu.run.frame_lease import FrameLease
from nnapi_shim.errors import NnapiError, Where
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.types import Dimensions, byte_size
from nnapi_shim.hints import NamedTuple
from nnapi_shim.operations.trampoline import Call


class Located(NamedTuple):
    """Address and dimensions of an operand in this run."""

    address: int
    dimensions: Dimensions


Inputs = Sequence[Located | None]
"""Of a graph; None for one that is omitted."""
RunGraph = Callable[[CompiledGraph, Inputs, Where, FrameLease], Call[list[Located]]]
"""Runs a graph on inputs, as the trampoline does; the lease has its outputs."""


def branch(
    run: RunGraph, graphs: Sequence[CompiledGraph], inputs: Inputs, place: Where, lease: FrameLease
) -> Call[list[Located]]:
    """The outputs of an IF. graphs: then and else. inputs: the condition, and those of both."""
    condition = inputs[0]
    assert condition is not None
    chosen = address.read(condition.address, 1) != b"\0"
    graph, word = (graphs[0], "then") if chosen else (graphs[1], "else")
    results: list[Located]
    results = yield run(graph, inputs[1:], f"{place}, {word}", lease)
    return results


def loop(
    run: RunGraph,
    graphs: Sequence[CompiledGraph],
    inputs: Inputs,
    output_count: int,
    place: Where,
    lease: FrameLease,
    limits: tuple[int, int],
) -> Call[list[Located]]:
    """The state of a WHILE after its last round. graphs: condition and body.

    limits: the loop timeout, and the deadline of the run, in ns; 0 for no deadline.
    """
    started = monotonic_ns()
    condition, body = graphs
    state = inputs
    last_lease = FrameLease()
    while True:
        test_lease = FrameLease()
        (test,) = yield run(condition, state, f"{place}, condition", test_lease)
        goes_on = address.read(test.address, 1) != b"\0"
        test_lease.release()
        if not goes_on:
            break
        _check_time(started, place, limits)
        next_lease = FrameLease()
        results = yield run(body, state, f"{place}, body", next_lease)
        state = [*results, *inputs[len(results) :]]
        last_lease.release()
        last_lease = next_lease
    lease.take_over(last_lease)
    carried = []
    for position, result in enumerate(state[:output_count]):
        if result is None:
            raise NnapiError(
                ResultCode.OP_FAILED,
                f"{place}: input {position} is omitted",
                "while.output-omitted",
            )
        if result is inputs[position]:
            operand = body.subgraph.operands[body.subgraph.input_indexes[position]]
            length = byte_size(operand._replace(dimensions=result.dimensions))
            result = result._replace(address=lease.copy(result.address, length))
        carried.append(result)
    return carried


def _check_time(started: int, place: Where, limits: tuple[int, int]) -> None:
    now = monotonic_ns()
    loop_timeout_ns, deadline_ns = limits
    late = deadline_ns and now >= deadline_ns
    if late or now - started > loop_timeout_ns:
        what = "the computation" if late else "the loop"
        raise NnapiError(
            ResultCode.MISSED_DEADLINE_TRANSIENT,
            f"{place}: {what} took longer than it may",
            "execution.deadline.passed" if late else "while.timeout",
        )
