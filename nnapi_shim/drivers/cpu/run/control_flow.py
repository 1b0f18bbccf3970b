"""Executes IF and WHILE that are not inlined."""

from time import monotonic_ns

from nnapi_shim import address
from nnapi_shim.drivers.cpu.compile.compiled_graph import CompiledGraph
from nnapi_shim.drivers.cpu.run.frame_lease import FrameLease
from nnapi_shim.errors import NnapiError, Where
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.types import Dimensions, byte_size
from nnapi_shim.hints import Callable, NamedTuple, Sequence
from nnapi_shim.operations.trampoline import Call


class Located(NamedTuple):
    """Address and dimensions of an operand in this run."""

    address: int
    dimensions: Dimensions


Inputs = Sequence[Located | None]
"""The inputs of a graph; None for an omitted one."""
RunGraph = Callable[[CompiledGraph, Inputs, Where, FrameLease], Call[list[Located]]]
"""Runs a graph as a coroutine of the trampoline; the lease owns its outputs."""


def branch(
    run: RunGraph, graphs: Sequence[CompiledGraph], inputs: Inputs, where: Where, lease: FrameLease
) -> Call[list[Located]]:
    """The outputs of an IF. graphs: then and else. inputs: the condition, then the graph inputs."""
    condition = inputs[0]
    assert condition is not None
    condition_holds = address.read(condition.address, 1) != b"\0"
    graph, word = (graphs[0], "then") if condition_holds else (graphs[1], "else")
    results: list[Located]
    results = yield run(graph, inputs[1:], f"{where}, {word}", lease)
    return results


def loop(
    run: RunGraph,
    graphs: Sequence[CompiledGraph],
    inputs: Inputs,
    output_count: int,
    where: Where,
    lease: FrameLease,
    limits: tuple[int, int],
) -> Call[list[Located]]:
    """The state of a WHILE after its last iteration. graphs: condition and body.

    limits: the loop timeout, and the deadline of the run, in ns; 0 for no deadline.
    """
    start_ns = monotonic_ns()
    condition, body = graphs
    state = inputs
    last_lease = FrameLease()
    while True:
        test_lease = FrameLease()
        (test,) = yield run(condition, state, f"{where}, condition", test_lease)
        goes_on = address.read(test.address, 1) != b"\0"
        test_lease.release()
        if not goes_on:
            break
        _check_time(start_ns, where, limits)
        next_lease = FrameLease()
        results = yield run(body, state, f"{where}, body", next_lease)
        state = [*results, *inputs[len(results) :]]
        last_lease.release()
        last_lease = next_lease
    lease.take_over(last_lease)
    carried = []
    for position, result in enumerate(state[:output_count]):
        if result is None:
            raise NnapiError(
                ResultCode.OP_FAILED,
                f"{where}: input {position} is omitted",
                "while.output-omitted",
            )
        if result is inputs[position]:
            operand = body.subgraph.operands[body.subgraph.input_indexes[position]]
            length = byte_size(operand._replace(dimensions=result.dimensions))
            result = result._replace(address=lease.copy(result.address, length))
        carried.append(result)
    return carried


def _check_time(start_ns: int, where: Where, limits: tuple[int, int]) -> None:
    now = monotonic_ns()
    loop_timeout_ns, deadline_ns = limits
    late = deadline_ns and now >= deadline_ns
    if late or now - start_ns > loop_timeout_ns:
        subject = "the computation" if late else "the loop"
        raise NnapiError(
            ResultCode.MISSED_DEADLINE_TRANSIENT,
            f"{where}: {subject} took longer than it may",
            "execution.deadline.passed" if late else "while.timeout",
        )
