"""Inlines the graphs of IF and WHILE into the program, between branch steps.

Inlining needs static shapes: both branches of an IF produce outputs of the same dimensions, and an
iteration of a WHILE keeps the dimensions of its state. Otherwise, or if a graph needs run-time
values or is too large (`inlining.py`), lowering raises NeedsControl and the run executes the graphs
separately.
"""

from nnapi_shim import address
from nnapi_shim.drivers.cpu.compile.graph_lowering import GraphLowering
from nnapi_shim.drivers.cpu.compile.suspension import NeedsControl, Suspension
from nnapi_shim.drivers.cpu.lowering import control_flow as steps
from nnapi_shim.drivers.cpu.program.record import Buffer, Step
from nnapi_shim.drivers.cpu.program.schedule import ScheduledStep
from nnapi_shim.errors import NnapiError, Where, op_failed
from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hal.types import Dimensions, Operation, Subgraph
from nnapi_shim.hints import Sequence


def lower(lowering: GraphLowering, item: Operation) -> None:
    """Append an IF or WHILE to a lowering; raises NeedsControl if it cannot be inlined."""
    check_condition(lowering, item)
    assert lowering.referenced is not None
    if not lowering.referenced.fits(lowering.operands.declared, item, lowering.depth):
        raise NeedsControl(item)
    function = _lower_if if item.type is OperationType.IF else _lower_while
    try:
        lowering.attempt(lambda: function(lowering, item), item.outputs)
    except (Suspension, _ShapesDiffer):
        raise NeedsControl(item) from None


def check_condition(lowering: GraphLowering, item: Operation) -> None:
    """Raise OP_FAILED if the condition of an IF is omitted."""
    if item.type is OperationType.IF and lowering.operands.is_omitted(item.inputs[0]):
        raise op_failed("condition is omitted; IF needs it", "operation.input.omitted").at(
            lowering.place_of(item)
        )


def graph_of(lowering: GraphLowering, index: int) -> Subgraph:
    """The graph that a MODEL operand refers to."""
    assert lowering.referenced is not None
    return lowering.referenced.graph(lowering.operands.declared[index])


class _ShapesDiffer(Exception):  # noqa: N818 (not an error)
    """The shapes of the results depend on the branch taken."""


def _lower_if(lowering: GraphLowering, item: Operation) -> None:
    condition, then, otherwise, *inputs = item.inputs
    operands, outputs = lowering.operands, item.outputs
    where = lowering.place_of(item)
    constant_address = operands.constant_addresses.get(operands.owner(condition))
    if constant_address is not None:
        graph_index = then if address.read(constant_address, 1) != b"\0" else otherwise
        word = "then" if graph_index == then else "else"
        graph = graph_of(lowering, graph_index)
        sizes = _inlined(lowering, graph, inputs, outputs, f"{where}, {word}")
        _set_dimensions(lowering, outputs, sizes, where)
        return
    test = _Branch(lowering, steps.branch_unless(operands.bound(condition)), where)
    first = _alternative(lowering, graph_of(lowering, then), inputs, outputs, f"{where}, then")
    leave = _Branch(lowering, steps.branch(), where)
    test.land()
    graph = graph_of(lowering, otherwise)
    second = _alternative(lowering, graph, inputs, outputs, f"{where}, else")
    leave.land()
    if isinstance(first, NnapiError) and isinstance(second, NnapiError):
        raise first
    dimensions = second if isinstance(first, NnapiError) else first
    assert not isinstance(dimensions, NnapiError)
    if not isinstance(second, NnapiError) and second != dimensions:
        raise _ShapesDiffer
    _set_dimensions(lowering, outputs, dimensions, where)


def _set_dimensions(
    lowering: GraphLowering, outputs: Sequence[int], dimensions: Sequence[Dimensions], where: Where
) -> None:
    for position, (index, sizes) in enumerate(zip(outputs, dimensions, strict=True)):
        if 0 in sizes:  # a declared size may override it
            raise _ShapesDiffer
        try:
            lowering.operands.set_dimensions(index, sizes)
        except NnapiError as error:
            raise error.at(f"{where}: output {position}") from None


def _lower_while(lowering: GraphLowering, item: Operation) -> None:
    """An iteration with an error must fail only when the run reaches it, so it is not inlined."""
    try:
        _loop(lowering, item)
    except NnapiError:
        raise _ShapesDiffer from None


def _loop(lowering: GraphLowering, item: Operation) -> None:
    condition_graph, body = (graph_of(lowering, index) for index in item.inputs[:2])
    inputs, operands = item.inputs[2:], lowering.operands
    where = lowering.place_of(item)
    carried = [
        _carried(lowering, index, item.outputs[position] if position < len(item.outputs) else None)
        for position, index in enumerate(inputs[: len(body.output_indexes)])
    ]
    for source, target in zip(inputs, carried, strict=False):
        lowering.copy(operands.bound(source), operands.bound(target), where)
    state = [*carried, *inputs[len(carried) :]]

    start_time = Buffer(8)
    lowering.steps.append(ScheduledStep(steps.start_clock(start_time), where))
    first = len(lowering.steps)
    condition = _temporary(lowering, condition_graph, 0)
    (sizes,) = _inlined(lowering, condition_graph, state, [condition], f"{where}, condition")
    operands.set_dimensions(condition, sizes)
    test = _Branch(lowering, steps.loop_test(operands.bound(condition), start_time), where)
    results = [_temporary(lowering, body, at) for at in range(len(carried))]
    dimensions = _inlined(lowering, body, state, results, f"{where}, body")
    for result, target, sizes in zip(results, carried, dimensions, strict=True):
        if sizes != operands.bound(target).dimensions or 0 in sizes:
            raise _ShapesDiffer
        operands.set_dimensions(result, sizes)
        lowering.copy(operands.bound(result), operands.bound(target), where)
    back = _Branch(lowering, steps.branch(), where)
    back.scheduled.branch_offset = first - back.number
    test.land()
    lowering.loops.append((first, len(lowering.steps) - 1))
    for index, target in zip(item.outputs, carried, strict=False):
        operands.set_dimensions(index, operands.bound(target).dimensions)


class _Branch:
    """A branch step, appended to a schedule; `land` makes the next step its target."""

    def __init__(self, lowering: GraphLowering, step: Step, where: Where) -> None:
        self._lowering = lowering
        self.number = len(lowering.steps)
        self.scheduled = ScheduledStep(step, where)
        lowering.steps.append(self.scheduled)

    def land(self) -> None:
        self.scheduled.branch_offset = len(self._lowering.steps) - self.number


def _alternative(
    lowering: GraphLowering,
    graph: Subgraph,
    inputs: Sequence[int],
    outputs: Sequence[int],
    where: Where,
) -> list[Dimensions] | NnapiError:
    """Inline a branch of an IF; a branch with an error becomes a step that raises it."""
    try:
        return _inlined(lowering, graph, inputs, outputs, where)
    except NnapiError as error:
        lowering.steps.append(ScheduledStep(steps.fail(error), where))
        return error


def _inlined(
    lowering: GraphLowering,
    graph: Subgraph,
    inputs: Sequence[int],
    outputs: Sequence[int],
    where: Where,
) -> list[Dimensions]:
    """Lower a graph with operands of the outer graph as its inputs and outputs.

    Returns the dimensions of its outputs.
    """
    operands = lowering.operands
    base = operands.append_graph(graph)
    for index, outer in zip(graph.input_indexes, inputs, strict=True):
        operands.share_memory(base + index, outer)
        if not operands.is_omitted(outer):
            sizes = operands.bound(outer).dimensions
            _set_dimensions(lowering, [base + index], [sizes], f"{where}, input")
    for index, outer in zip(graph.output_indexes, outputs, strict=True):
        operands.share_memory(base + index, outer, pinned=True)
    outer_position = lowering.prefix, lowering.base, lowering.depth
    lowering.prefix, lowering.base, lowering.depth = f"{where}: ", base, lowering.depth + 1
    try:
        for item in graph.operations:
            lowering.lower(
                item._replace(
                    inputs=tuple([base + index for index in item.inputs]),
                    outputs=tuple([base + index for index in item.outputs]),
                )
            )
    finally:
        lowering.prefix, lowering.base, lowering.depth = outer_position
    return [operands.bound(base + index).dimensions for index in graph.output_indexes]


def _temporary(lowering: GraphLowering, graph: Subgraph, position: int) -> int:
    """Append a temporary with the declaration of an output of a graph."""
    like = graph.operands[graph.output_indexes[position]]
    return lowering.operands.append(like._replace(lifetime=OperandLifeTime.TEMPORARY_VARIABLE))


def _carried(lowering: GraphLowering, source: int, output: int | None) -> int:
    """Append an operand for a loop-carried value, in the memory of the loop's output."""
    operands = lowering.operands
    if operands.is_omitted(source):
        raise _ShapesDiffer
    operand = operands.bound(source)
    index = operands.append(
        operands.declared[source]._replace(
            lifetime=OperandLifeTime.TEMPORARY_VARIABLE,
            dimensions=operand.dimensions,
            scale=operand.scale,
            zero_point=operand.zero_point,
        )
    )
    if 0 in operand.dimensions:
        raise _ShapesDiffer
    if output is not None:
        operands.share_memory(index, output, pinned=True)
        operands.set_dimensions(output, operand.dimensions)
    return index
