"""What is done to a graph before it is lowered: a pass per file, in the order of a table.

Results stay the same, bit by bit, and NaN stays NaN. Two passes let another kernel compute sums of
floats, fuse_dilation and fuse_padding: what is added up in another order may be rounded otherwise,
exceed float32 on the way or not, and have the other sign if it is 0. compress_weights_f16
rounds weights to float16, if they are not among its numbers, and may add up in another order, too.
What the program reads is computed as the model says, and so is all that a run may refuse: passes
act where everything is declared, as operations give it.
"""

from collections.abc import Callable, Collection, Sequence
from importlib import import_module

from nnapi_shim.drivers.cpu.compile.constants import Constants
from nnapi_shim.drivers.cpu.compile.layout import Lowered, Placed
from nnapi_shim.drivers.cpu.lowering.half_precision import ON_ONE_ROW
from nnapi_shim.errors import Where
from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hal.types import Subgraph
from nnapi_shim.hints import TYPE_CHECKING, Any, NamedTuple
from nnapi_shim.limits import watched
from nnapi_shim.settings import PASSES

if TYPE_CHECKING:
    from nnapi_shim.drivers.cpu.passes.graph.rewriter import Done

O = OperationType  # noqa: E741
ALL = "all"
"""In the setting, for the names of all passes."""
VALUED = (
    OperandLifeTime.CONSTANT_COPY,
    OperandLifeTime.CONSTANT_REFERENCE,
    OperandLifeTime.NO_VALUE,
)


def types_of(graph: Subgraph) -> set[int]:
    """The types of all operations."""
    return {item.type for item in graph.operations}


def _of(*types: OperationType) -> Callable[[Subgraph], bool]:
    """Whether a graph has operations of one of these types."""
    return lambda graph: not types_of(graph).isdisjoint(types)


def _computes_constants(graph: Subgraph) -> bool:
    """Whether an operation reads constants alone."""
    operands = graph.operands
    for item in watched(graph.operations):
        if item.inputs and all(operands[index].lifetime in VALUED for index in item.inputs):
            return True
    return False


TABLE: dict[str, Callable[[Subgraph], bool]] = {
    "fold_constants": _computes_constants,
    "merge_transposes": _of(O.TRANSPOSE),
    "merge_quantization": _of(O.QUANTIZE),
    "fuse_dilation": _of(O.BATCH_TO_SPACE_ND),
    "fuse_padding": _of(O.PAD, O.PAD_V2),
    "fuse_activations": _of(O.RELU, O.RELU1, O.RELU6),
    "fuse_gelu": _of(O.TANH),
    "fuse_layer_norm": _of(O.SQRT),
    "tabulate_bytes": _of(O.QUANTIZE, O.LOGISTIC, O.TANH, O.HARD_SWISH),
    "compress_weights_f16": _of(*ON_ONE_ROW),
}
"""Name of a pass, which is that of its file and its function -> whether a graph may have something
for it to do; it is not imported for others.
"""


WHERE_RELAXED = ("compress_weights_f16",)
"""Those for models whose float32 may be computed with the range and precision of float16."""

ON_STEPS = ("fuse_additions", "write_in_place", "fuse_tiles", "fuse_elementwise", "run_parallel")
"""Passes over the steps that a graph was lowered to."""


def left_out() -> frozenset[str]:
    """The passes that the setting leaves out."""
    names = set(PASSES.get().replace(",", " ").replace("-", "").split())
    known = (*TABLE, *ON_STEPS)
    for name in sorted(names.difference(known) - {ALL}):
        PASSES.refuse(name, f"allowed are {', '.join(known)}, and {ALL}")
    return frozenset(known if ALL in names else names.intersection(known))


def applied(
    subgraph: Subgraph,
    constants: Constants,
    evaluate: Callable[[Subgraph], Sequence[bytes] | None],
) -> tuple[Subgraph, "Sequence[Done]"]:
    """A graph that gives the same results in fewer steps, and what was done to it.

    constants: those of its model; what passes compute is added to them. evaluate: as in
    `graph.Graph`.
    """
    without = left_out().union(() if constants.are_relaxed else WHERE_RELAXED)
    names = [name for name, acts in TABLE.items() if name not in without and acts(subgraph)]
    if not names:
        return subgraph, ()
    from nnapi_shim.drivers.cpu.passes.graph.rewriter import Graph

    graph = Graph(subgraph, constants, evaluate)
    for name in names:
        getattr(import_module(f"{__name__}.graph.{name}"), name)(graph)
    return (graph.rewritten() if graph.done else subgraph), graph.done


class Joined(NamedTuple):
    """What a pass over steps did: its name, where the step comes from, what became of it."""

    name: str
    where: Where
    what: str


def on_steps(lowered: Lowered, kept: Collection[Any]) -> list[Joined]:
    """Let the passes over steps change those of a program; what they did.

    kept: operands and Buffers that later programs read.
    """
    kernels = {placed.step.kernel.partition("_")[0] for placed in watched(lowered.steps)}
    without = left_out()
    done = []
    if "add" in kernels and "fuse_additions" not in without:
        from nnapi_shim.drivers.cpu.passes.schedule.fuse_additions import fuse_additions

        for one, other in fuse_additions(lowered, kept):
            what = f"added at the end of {one.where}"
            done.append(Joined("fuse_additions", other.where, what))
    if "copy" in kernels and "write_in_place" not in without:
        from nnapi_shim.drivers.cpu.passes.schedule.write_in_place import write_in_place

        for placed in write_in_place(lowered, kept):
            what = "what it would copy is written or read where it lies"
            done.append(Joined("write_in_place", placed.where, what))
    if not kernels.isdisjoint(("gemm", "depthwise")) and "fuse_tiles" not in without:
        from nnapi_shim.drivers.cpu.passes.schedule.fuse_tiles import fuse_tiles

        for one, other in fuse_tiles(lowered.steps, lowered.root):
            what = f"behind {one.where}, tile by tile"
            done.append(Joined("fuse_tiles", other.where, what))
    if _has_pairs(lowered.steps) and "fuse_elementwise" not in without:
        from nnapi_shim.drivers.cpu.passes.schedule.fuse_elementwise import fuse_elementwise

        for one, other in fuse_elementwise(lowered.steps, lowered.root):
            what = f"behind {one.where}, block by block"
            done.append(Joined("fuse_elementwise", other.where, what))
    if "run_parallel" not in without:
        from nnapi_shim.drivers.cpu.passes.schedule.run_parallel import run_parallel

        for one, other in run_parallel(lowered, kept):
            done.append(Joined("run_parallel", other.where, f"beside {one.where}"))
    return done


def _has_pairs(steps: Sequence[Placed]) -> bool:
    """Whether two steps that go element by element follow each other."""
    before = False
    for placed in watched(steps):
        this = "part" in placed.step.record.fields
        if before and this:
            return True
        before = this
    return False
