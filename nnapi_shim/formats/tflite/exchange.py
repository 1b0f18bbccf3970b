"""Models of the HAL as .tflite in memory, for the engines that read it (drivers/engines)."""

from typing import Any

from nnapi_shim import savers
from nnapi_shim.formats.graph import exchange
from nnapi_shim.formats.graph.exchange import Declined, view_of
from nnapi_shim.formats.graph.reading import read_graph
from nnapi_shim.formats.tflite.exporting.exporter import serialized
from nnapi_shim.formats.tflite.exporting.subgraph import Subgraph
from nnapi_shim.formats.tflite.exporting.table import TfliteBuilder
from nnapi_shim.hal.types import Model


def reasons(model: Model, declined: Declined, any_size: bool = False) -> list[str]:
    """As savers.Exchange; large models are refused."""
    builder = TfliteBuilder()
    builder.subgraphs.append(Subgraph("main", [], [], builder.emitted))  # before those of IF, WHILE
    return exchange.reasons(model, builder, declined)


def written(model: Model, external: Any = None) -> tuple[bytes, list[str], list[str]]:
    """The .tflite file of a model, and the names of its inputs and outputs.

    Raises BAD_DATA as `export`, and for large models.
    """
    graph = read_graph(view_of(model))
    inputs, outputs = ([each.name for each in it] for it in (graph.inputs, graph.outputs))
    return serialized(graph), inputs, outputs


class _Tflite:
    """savers.Exchange."""

    reasons = staticmethod(reasons)
    written = staticmethod(written)


savers.register_exchange(".tflite", _Tflite())
