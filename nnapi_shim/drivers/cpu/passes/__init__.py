"""Passes: rewrites of a graph before lowering, and of the schedule after lowering.

Results stay bit-identical, and NaN stays NaN, with four exceptions. fuse_dilation, fuse_padding and
keep_weights_q8 select another kernel, which may accumulate float sums in another order: rounding,
overflow of intermediate sums and the sign of a zero may differ. compress_weights_f16 rounds weights
to float16 and may change the order of accumulation. Passes act only where shapes and quantization
are static and as declared, so the outputs of the program and the errors of a run stay those of the
model.

A pass is a function in a file of its name, and a row of a table here. `nnapi-shim explain` lists
every rewrite that a pass reports.
"""

from nnapi_shim.drivers.cpu.lowering.half_precision import ON_ONE_ROW
from nnapi_shim.drivers.cpu.program.constants import Constants
from nnapi_shim.drivers.cpu.program.record import Space
from nnapi_shim.drivers.cpu.program.schedule import Rewrite, Schedule
from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hal.types import Subgraph
from nnapi_shim.hints import Callable, NamedTuple, Sequence
from nnapi_shim.limits import watched
from nnapi_shim.modules import import_module
from nnapi_shim.settings import PASSES

O = OperationType  # noqa: E741
ALL = "all"
"""In the setting: all passes."""
VALUED = (
    OperandLifeTime.CONSTANT_COPY,
    OperandLifeTime.CONSTANT_REFERENCE,
    OperandLifeTime.NO_VALUE,
)
Evaluate = Callable[[Subgraph], Sequence[bytes] | None]
"""Evaluates a graph without inputs: the contents of its outputs, or None on failure."""


class GraphPass(NamedTuple):
    """A pass over a graph: passes/graph/<name>.py.

    applies: whether a graph may have a match; otherwise the pass is not imported.
    relaxed: only for models that allow float16 range and precision for float32.
    """

    name: str
    applies: Callable[[Subgraph], bool]
    relaxed: bool = False


class SchedulePass(NamedTuple):
    """A pass over a schedule: passes/schedule/<name>.py.

    applies: whether a schedule may have a match; otherwise the pass is not imported.
    if_repeated: of schedules to which it applies, whether one in which the same steps are repeated
        may have a match.
    """

    name: str
    applies: Callable[[Schedule], bool]
    if_repeated: Callable[[Schedule], bool] = lambda _: True


def types_of(graph: Subgraph) -> set[int]:
    """The types of all operations."""
    return {item.type for item in graph.operations}


def _of(*types: OperationType) -> Callable[[Subgraph], bool]:
    """Whether a graph has operations of one of these types."""
    return lambda graph: not types_of(graph).isdisjoint(types)


def _computes_constants(graph: Subgraph) -> bool:
    """Whether an operation has only constant inputs."""
    operands = graph.operands
    for item in watched(graph.operations):
        if item.inputs and all(operands[index].lifetime in VALUED for index in item.inputs):
            return True
    return False


def _dequantizes_weights(graph: Subgraph) -> bool:
    """Whether there are a DEQUANTIZE and an operation that may be a product of few rows."""
    types = types_of(graph)
    return O.DEQUANTIZE in types and not types.isdisjoint(ON_ONE_ROW)


def _quantizes_sums(graph: Subgraph) -> bool:
    """Whether there are a DEQUANTIZE, a sum or a mean, and a QUANTIZE."""
    types = types_of(graph)
    return {O.DEQUANTIZE, O.QUANTIZE} <= types and not types.isdisjoint((O.REDUCE_SUM, O.MEAN))


def _has(*spaces: str) -> Callable[[Schedule], bool]:
    """Whether a schedule has steps of all of these iteration spaces."""
    return lambda schedule: {each.step.record.space for each in schedule.steps}.issuperset(spaces)


def _follow(
    first: Sequence[str], second: Sequence[str], least_tiles: int = 0
) -> Callable[[Schedule], bool]:
    """Whether a step with a space of `second` directly follows a step with a space of `first`, and
    one of the two has at least `least_tiles` tiles.
    """

    def applies(schedule: Schedule) -> bool:
        before, tiles = "", 0
        for scheduled in watched(schedule.steps):
            step = scheduled.step
            space = step.record.space
            if before in first and space in second and max(tiles, step.tiles) >= least_tiles:
                return True
            before, tiles = space, step.tiles
        return False

    return applies


ROW_BY_ROW = (Space.ELEMENTS, Space.PAIRS, Space.RUNS, Space.ROWS)

_row_by_row = _follow(ROW_BY_ROW, ROW_BY_ROW)


def _has_large_rows(schedule: Schedule) -> bool:
    """Whether a step that computes row by row is large enough for a chain."""
    from nnapi_shim.drivers.cpu.passes.schedule.fuse_elementwise import has_large_steps

    return has_large_steps(schedule)


def _has_small_steps(schedule: Schedule) -> bool:
    """Whether a step may run in parallel with others."""
    from nnapi_shim.drivers.cpu.passes.schedule.run_parallel import has_small_steps

    return has_small_steps(schedule)


def _sums_gathered_rows(schedule: Schedule) -> bool:
    """Whether there are steps that gather rows, and sums of rows."""
    kernels = {each.step.kernel for each in schedule.steps}
    return kernels.issuperset(("gather", "reduce_sum_vectors_f32"))


GRAPH_PASSES = (
    GraphPass("keep_weights_q8", _dequantizes_weights),
    GraphPass("fold_constants", _computes_constants),
    GraphPass("merge_transposes", _of(O.TRANSPOSE)),
    GraphPass("merge_quantization", _of(O.QUANTIZE)),
    GraphPass("fuse_dilation", _of(O.BATCH_TO_SPACE_ND)),
    GraphPass("fuse_padding", _of(O.PAD, O.PAD_V2)),
    GraphPass("fuse_activations", _of(O.RELU, O.RELU1, O.RELU6)),
    GraphPass("fuse_gelu", _of(O.TANH)),
    GraphPass("fuse_layer_norm", _of(O.SQRT)),
    GraphPass("sum_bytes", _quantizes_sums),
    GraphPass("tabulate_bytes", _of(O.QUANTIZE, O.LOGISTIC, O.TANH, O.HARD_SWISH)),
    GraphPass("compress_weights_f16", _of(*ON_ONE_ROW), relaxed=True),
)
"""In the order in which they run."""

SCHEDULE_PASSES = (
    SchedulePass("sum_gathered", _sums_gathered_rows),
    SchedulePass("fuse_additions", _has(Space.MATRIX, Space.PAIRS)),
    SchedulePass("write_in_place", _has(Space.COPIES)),
    SchedulePass(
        "fuse_tiles",
        _follow((Space.MATRIX, Space.LINES), (Space.MATRIX, Space.PAIRS), least_tiles=2),
    ),
    SchedulePass("fuse_elementwise", _row_by_row, _has_large_rows),
    SchedulePass("run_parallel", lambda _: True, _has_small_steps),
)
"""In the order in which they run."""

NAMES = tuple([each.name for each in (*GRAPH_PASSES, *SCHEDULE_PASSES)])


def left_out() -> frozenset[str]:
    """The passes that the setting disables."""
    names = set(PASSES.get().replace(",", " ").replace("-", "").split())
    for name in sorted(names.difference(NAMES) - {ALL}):
        PASSES.refuse(name, f"allowed are {', '.join(NAMES)}, and {ALL}")
    return frozenset(NAMES if ALL in names else names.intersection(NAMES))


def of_graph(subgraph: Subgraph, constants: Constants) -> list[str]:
    """The passes that may rewrite a graph."""
    without = left_out()
    return [
        each.name
        for each in GRAPH_PASSES
        if each.name not in without
        and (constants.are_relaxed or not each.relaxed)
        and each.applies(subgraph)
    ]


def rewrite_graph(
    subgraph: Subgraph, constants: Constants, evaluate: Evaluate
) -> tuple[Subgraph, Sequence[Rewrite]]:
    """An equivalent graph with fewer steps, and the rewrites that produced it.

    constants: the constants of the model; passes add the constants that they compute.
    """
    names = of_graph(subgraph, constants)
    from nnapi_shim.drivers.cpu.passes.graph.rewriter import MutableGraph

    graph = MutableGraph(subgraph, constants, evaluate)
    for name in names:
        graph.pass_name = name
        getattr(import_module(f"{__name__}.graph.{name}"), name)(graph)
    return (graph.rewritten() if graph.rewrites else subgraph), graph.rewrites


def rewrite_schedule(schedule: Schedule) -> None:
    """Apply the schedule passes to a schedule."""
    without = left_out()
    for each in SCHEDULE_PASSES:
        if each.name not in without and each.applies(schedule):
            schedule.pass_name = each.name
            getattr(import_module(f"{__name__}.schedule.{each.name}"), each.name)(schedule)


def may_rewrite(schedule: Schedule) -> bool:
    """Whether a pass may change a schedule that repeats the steps of this one, with the same
    neighbours and other operands of the same sizes.
    """
    without = left_out()
    return any(
        each.name not in without and each.applies(schedule) and each.if_repeated(schedule)
        for each in SCHEDULE_PASSES
    )
