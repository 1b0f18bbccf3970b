"""What is in a model, as data: for programs that look at models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nnapi_shim.api.view import GraphView, OperandView
from nnapi_shim.tools.model_source import Source, model_of, name_of
from nnapi_shim.tools.report import Report

MOST_VALUES = 16
"""Elements of a constant whose value stands in a summary."""


@dataclass(frozen=True)
class OperandSummary:
    """An operand. dimensions: a 0 is an unknown one. scales: of each channel along channel_dim, if
    it has them. lifetime: where its value comes from. value: of a small constant, else None.
    subgraph: number of the graph that it refers to, in Summary.graphs, or None.
    """

    index: int
    name: str
    type: str
    dimensions: tuple[int, ...]
    scale: float
    zero_point: int
    scales: tuple[float, ...]
    channel_dim: int | None
    lifetime: str
    value: Any
    subgraph: int | None


@dataclass(frozen=True)
class OperationSummary:
    """An operation; inputs, outputs: indexes of operands by their roles, lists where a role
    repeats.
    """

    number: int
    type: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]


@dataclass(frozen=True)
class GraphSummary:
    """A graph: operations in the order in which they run, inputs and outputs as operand indexes."""

    operands: tuple[OperandSummary, ...]
    operations: tuple[OperationSummary, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Summary(Report):
    """A model. graphs: the main one, then those that IF and WHILE refer to. counts: operations of
    all graphs by type. constant_bytes: of all constants together. carried: input and output
    position of each state that is carried from run to run.
    """

    model: str
    graphs: tuple[GraphSummary, ...]
    counts: dict[str, int]
    constant_bytes: int
    relaxed: bool
    carried: tuple[tuple[int, int], ...]


def summary(source: Source) -> Summary:
    """What is in a model."""
    model = model_of(source)
    graphs: list[GraphView] = [model.graph]
    numbers = {id(model.graph): 0}
    summaries = []
    for graph in graphs:  # grows while it is walked
        for operand in graph.operands:
            inner = operand.subgraph
            if inner is not None and id(inner) not in numbers:
                numbers[id(inner)] = len(graphs)
                graphs.append(inner)
        summaries.append(_graph(graph, numbers))
    counts: dict[str, int] = {}
    for graph in graphs:
        for item in graph.operations:
            counts[item.name] = counts.get(item.name, 0) + 1
    return Summary(
        name_of(source),
        tuple(summaries),
        counts,
        sum(_bytes(operand) for graph in graphs for operand in graph.operands),
        model.finished.relax_computation_float32_to_float16,
        tuple((state.input, state.output) for state in model.carried),
    )


def _graph(graph: GraphView, numbers: Mapping[int, int]) -> GraphSummary:
    return GraphSummary(
        tuple(_operand(operand, numbers) for operand in graph.operands),
        tuple(
            OperationSummary(
                item.number,
                item.name,
                _roles(item.roles, item.inputs),
                _roles(item.output_roles, item.outputs),
            )
            for item in graph.operations
        ),
        tuple(operand.index for operand in graph.input_operands),
        tuple(operand.index for operand in graph.output_operands),
    )


def _roles(names: tuple[str, ...], operands: tuple[OperandView, ...]) -> dict[str, Any]:
    indexes: dict[str, Any] = {}
    for name, operand in zip(names, operands, strict=True):
        if names.count(name) > 1:
            indexes.setdefault(name, []).append(operand.index)
        else:
            indexes[name] = operand.index
    return indexes


def _operand(operand: OperandView, numbers: Mapping[int, int]) -> OperandSummary:
    value, channels = operand.value, operand.channel_quant
    inner = operand.subgraph
    return OperandSummary(
        operand.index,
        operand.name,
        getattr(operand.type, "name", str(int(operand.type))),
        tuple(operand.dimensions),
        operand.scale,
        operand.zero_point,
        () if channels is None else tuple(channels.scales),
        None if channels is None else channels.channel_dim,
        operand.lifetime.name,
        None if value is None or value.size > MOST_VALUES else value.tolist(),
        None if inner is None else numbers[id(inner)],
    )


def _bytes(operand: OperandView) -> int:
    value = operand.value
    return 0 if value is None else value.nbytes
