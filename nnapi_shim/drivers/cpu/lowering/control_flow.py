"""IF and WHILE as steps: the graphs they refer to become part of the program, between jumps.

That needs shapes that are the same whichever way the run goes: both branches of an IF give outputs
of the same dimensions, and a round of a WHILE leaves those of its state as they are. Where that is
not so, where a graph waits for a value that only the run knows, or would be too large
(`inlining.py`), the run itself goes from graph to graph (NeedsControl).
"""

from collections.abc import Sequence

from nnapi_shim import address
from nnapi_shim.drivers.cpu.compile.builder import Builder
from nnapi_shim.drivers.cpu.compile.layout import Placed
from nnapi_shim.drivers.cpu.compile.suspension import NeedsControl, Wait
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, LOOP_TIMEOUT, Buffer, Step, record
from nnapi_shim.errors import NnapiError, Where, op_failed
from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hal.types import Dimensions, Operation, Subgraph
from nnapi_shim.hints import Any

JUMP = record()
CONDITION = record(condition=ADDRESS)
CLOCK = record(output=ADDRESS)
LOOP = record(condition=ADDRESS, started=ADDRESS, timeout=ADDRESS)
FAIL = record(code=INT64)


def lower(builder: Builder, item: Operation) -> None:
    """Append an IF or WHILE to a builder; raises NeedsControl where the run has to decide."""
    check_condition(builder, item)
    if not builder.referenced.fits(builder.operands, item, builder.depth):
        raise NeedsControl(item)
    function = _lower_if if item.type is OperationType.IF else _lower_while
    try:
        builder.attempt(lambda: function(builder, item), item.outputs)
    except (Wait, _ShapesDiffer):
        raise NeedsControl(item) from None


def check_condition(builder: Builder, item: Operation) -> None:
    """The condition of an IF is there."""
    if item.type is OperationType.IF and builder.is_omitted(item.inputs[0]):
        raise op_failed("condition is omitted; IF needs it", "operation.input.omitted").at(
            builder.place_of(item)
        )


def graph_of(builder: Builder, index: int) -> Subgraph:
    """The graph that a MODEL operand refers to."""
    return builder.referenced.graph(builder.operands[index])


class _ShapesDiffer(Exception):  # noqa: N818 (not an error)
    """What the graphs give depends on the way that the run goes."""


def _lower_if(builder: Builder, item: Operation) -> None:
    condition, then, otherwise, *inputs = item.inputs
    place = builder.place_of(item)
    where = builder.constant_addresses.get(builder.owner(condition))
    if where is not None:
        chosen = then if address.read(where, 1) != b"\0" else otherwise
        word = "then" if chosen == then else "else"
        graph = graph_of(builder, chosen)
        sizes = _inlined(builder, graph, inputs, item.outputs, f"{place}, {word}")
        _set_dimensions(builder, item.outputs, sizes, place)
        return
    test = _jump(builder, Step(CONDITION, "jump_unless", **_condition(builder, condition)), place)
    first = _branch(builder, graph_of(builder, then), inputs, item.outputs, f"{place}, then")
    leave = _jump(builder, Step(JUMP, "jump", writes=()), place)
    test.land()
    second = _branch(builder, graph_of(builder, otherwise), inputs, item.outputs, f"{place}, else")
    leave.land()
    if isinstance(first, NnapiError) and isinstance(second, NnapiError):
        raise first
    dimensions = second if isinstance(first, NnapiError) else first
    assert not isinstance(dimensions, NnapiError)
    if not isinstance(second, NnapiError) and second != dimensions:
        raise _ShapesDiffer
    _set_dimensions(builder, item.outputs, dimensions, place)


def _set_dimensions(
    builder: Builder, outputs: Sequence[int], dimensions: Sequence[Dimensions], place: Where
) -> None:
    for position, (index, sizes) in enumerate(zip(outputs, dimensions, strict=True)):
        if 0 in sizes:  # a declared size may win over it
            raise _ShapesDiffer
        try:
            builder.set_dimensions(index, sizes)
        except NnapiError as error:
            raise error.at(f"{place}: output {position}") from None


def _lower_while(builder: Builder, item: Operation) -> None:
    """What cannot run fails only when it is reached, which is for the run to see."""
    try:
        _loop(builder, item)
    except NnapiError:
        raise _ShapesDiffer from None


def _loop(builder: Builder, item: Operation) -> None:
    condition_graph, body = (graph_of(builder, index) for index in item.inputs[:2])
    given = item.inputs[2:]
    place = builder.place_of(item)
    carried = [
        _carried(builder, index, item.outputs[position] if position < len(item.outputs) else None)
        for position, index in enumerate(given[: len(body.output_indexes)])
    ]
    for source, target in zip(given, carried, strict=False):
        builder.copy(builder.operand(source), builder.operand(target), place)
    state = [*carried, *given[len(carried) :]]

    started = Buffer(8)
    builder.steps.append(Placed(Step(CLOCK, "start_clock", output=started), place))
    first = len(builder.steps)
    condition = _temporary(builder, condition_graph, 0)
    (sizes,) = _inlined(builder, condition_graph, state, [condition], f"{place}, condition")
    builder.set_dimensions(condition, sizes)
    fields = _condition(builder, condition)
    test = _jump(
        builder, Step(LOOP, "loop_test", **fields, started=started, timeout=LOOP_TIMEOUT), place
    )
    results = [_temporary(builder, body, at) for at in range(len(carried))]
    dimensions = _inlined(builder, body, state, results, f"{place}, body")
    for result, target, sizes in zip(results, carried, dimensions, strict=True):
        if sizes != builder.operand(target).dimensions or 0 in sizes:
            raise _ShapesDiffer
        builder.set_dimensions(result, sizes)
        builder.copy(builder.operand(result), builder.operand(target), place)
    back = _jump(builder, Step(JUMP, "jump", writes=()), place)
    back.placed.jump = first - back.number
    test.land()
    builder.loops.append((first, len(builder.steps) - 1))
    for index, target in zip(item.outputs, carried, strict=False):
        builder.set_dimensions(index, builder.operand(target).dimensions)


def _condition(builder: Builder, index: int) -> dict[str, Any]:
    return {"condition": builder.operand(index), "writes": ()}


class _jump:  # noqa: N801 (reads as the function that it is)
    """Append a step that jumps; `land` makes the next step the one that it jumps to."""

    def __init__(self, builder: Builder, step: Step, place: Where) -> None:
        self._builder = builder
        self.number = len(builder.steps)
        self.placed = Placed(step, place)
        builder.steps.append(self.placed)

    def land(self) -> None:
        self.placed.jump = len(self._builder.steps) - self.number


def _branch(
    builder: Builder,
    graph: Subgraph,
    inputs: Sequence[int],
    outputs: Sequence[int],
    place: Where,
) -> list[Dimensions] | NnapiError:
    """Inline a branch; where it cannot run, a step that fails stands in its place."""
    try:
        return _inlined(builder, graph, inputs, outputs, place)
    except NnapiError as error:
        step = Step(FAIL, "fail", writes=(), complaint=error.message, code=int(error.code))
        builder.steps.append(Placed(step, place))
        return error


def _inlined(
    builder: Builder,
    graph: Subgraph,
    inputs: Sequence[int],
    outputs: Sequence[int],
    place: Where,
) -> list[Dimensions]:
    """Lower a graph with the operands around it as its inputs and outputs.

    The dimensions of its outputs.
    """
    base = len(builder.operands)
    builder.operands.extend(graph.operands)
    for index, where in builder.constants.addresses(graph).items():
        builder.constant_addresses[base + index] = where
    for index, outer in zip(graph.input_indexes, inputs, strict=True):
        builder.aliases[base + index] = builder.owner(outer)
        if not builder.is_omitted(outer):
            sizes = builder.operand(outer).dimensions
            _set_dimensions(builder, [base + index], [sizes], f"{place}, input")
    for index, outer in zip(graph.output_indexes, outputs, strict=True):
        builder.aliases[base + index] = builder.owner(outer)
        builder.settled.add(base + index)
    outside = builder.place, builder.base, builder.depth
    builder.place, builder.base, builder.depth = f"{place}: ", base, builder.depth + 1
    try:
        for item in graph.operations:
            builder.lower(
                item._replace(
                    inputs=tuple([base + index for index in item.inputs]),
                    outputs=tuple([base + index for index in item.outputs]),
                )
            )
    finally:
        builder.place, builder.base, builder.depth = outside
    return [builder.operand(base + index).dimensions for index in graph.output_indexes]


def _temporary(builder: Builder, graph: Subgraph, position: int) -> int:
    """A new operand like an output of a graph."""
    like = graph.operands[graph.output_indexes[position]]
    builder.operands.append(like._replace(lifetime=OperandLifeTime.TEMPORARY_VARIABLE))
    return len(builder.operands) - 1


def _carried(builder: Builder, source: int, output: int | None) -> int:
    """A new operand for what a loop carries from round to round: in the memory of its output."""
    if builder.is_omitted(source):
        raise _ShapesDiffer
    operand = builder.operand(source)
    like = builder.operands[source]
    builder.operands.append(
        like._replace(
            lifetime=OperandLifeTime.TEMPORARY_VARIABLE,
            dimensions=operand.dimensions,
            scale=operand.scale,
            zero_point=operand.zero_point,
        )
    )
    index = len(builder.operands) - 1
    if 0 in operand.dimensions:
        raise _ShapesDiffer
    if output is not None:
        builder.aliases[index] = builder.owner(output)
        builder.settled.add(index)
        builder.set_dimensions(output, operand.dimensions)
    return index
