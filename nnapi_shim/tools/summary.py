"""Summary of a model as data, for programs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nnapi_shim.api.view import GraphView, OperandView
from nnapi_shim.tools.model_source import Source, model_of, name_of
from nnapi_shim.tools.report import Report

MOST_VALUES = 16
"""Largest number of elements of a constant whose value is in a summary."""


@dataclass(frozen=True)
class OperandSummary:
    """An operand. dimensions: 0 is unknown. scales: per channel along channel_dim, or empty.
    lifetime: the source of its value. value: of a small constant, else None. subgraph: index in
    Summary.graphs of the graph that it refers to, or None.
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
    """An operation; inputs, outputs: role -> operand index, or a list for a repeated role."""

    number: int
    type: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]


@dataclass(frozen=True)
class GraphSummary:
    """A graph: operations in execution order, inputs and outputs as operand indexes."""

    operands: tuple[OperandSummary, ...]
    operations: tuple[OperationSummary, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Summary(Report):
    """A model. graphs: the main one, then those that IF and WHILE refer to. counts: operation type
    -> number in all graphs. constant_bytes: size of all constants. carried: input and output
    position of each state.
    """

    model: str
    graphs: tuple[GraphSummary, ...]
    counts: dict[str, int]
    constant_bytes: int
    relaxed: bool
    carried: tuple[tuple[int, int], ...]


def summary(source: Source) -> Summary:
    """The summary of a model."""
    model = model_of(source)
    graphs: list[GraphView] = [model.graph]
    numbers = {id(model.graph): 0}
    summaries = []
    for graph in graphs:  # grows during the loop
        for operand in graph.operands:
            inner = operand.subgraph
            if inner is not None and id(inner) not in numbers:
                numbers[id(inner)] = len(graphs)
                graphs.append(inner)
        summaries.append(_graph(graph, numbers))
    counts = Counter(item.name for graph in graphs for item in graph.operations)
    return Summary(
        name_of(source),
        tuple(summaries),
        dict(counts),
        sum(o.value.nbytes for graph in graphs for o in graph.operands if o.value is not None),
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
