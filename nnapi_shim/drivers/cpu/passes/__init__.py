"""What is done to a graph before it is lowered: a pass per file, in the order of a table.

Results stay the same, bit by bit where they are quantized. What the program reads is computed as
the model says, and so is all that a run may refuse: passes act where everything is declared.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nnapi_shim.drivers.cpu.layout import Placed
from nnapi_shim.drivers.cpu.weights import Constants
from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hal.types import Subgraph
from nnapi_shim.settings import PASSES

if TYPE_CHECKING:
    from nnapi_shim.drivers.cpu.passes.graph import Done

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
    for item in graph.operations:
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
}
"""Name of a pass, which is that of its file and its function -> whether a graph may have something
for it to do; it is not imported for others.
"""


ON_STEPS = ("chain_steps",)
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
    without = left_out()
    names = [name for name, acts in TABLE.items() if name not in without and acts(subgraph)]
    if not names:
        return subgraph, ()
    from nnapi_shim.drivers.cpu.passes.graph import Graph

    graph = Graph(subgraph, constants, evaluate)
    for name in names:
        getattr(import_module(f"{__name__}.{name}"), name)(graph)
    return (graph.rewritten() if graph.done else subgraph), graph.done


def chained(steps: Sequence[Placed], root: Callable[[Any], Any]) -> Sequence[tuple[Placed, Placed]]:
    """Join steps that are to run tile by tile; the pairs that are. root: as in `chain_steps`."""
    names = {placed.step.kernel.partition("_")[0] for placed in steps}
    if names.isdisjoint(("gemm", "depthwise")) or "chain_steps" in left_out():
        return ()
    from nnapi_shim.drivers.cpu.passes.chain_steps import chain_steps

    return chain_steps(steps, root)
