"""Models of the HAL as .tflite in memory, for the engines that read it (drivers/engines)."""

from nnapi_shim import savers
from nnapi_shim.formats.graph import exchange
from nnapi_shim.formats.graph.exchange import Declined, graph_of
from nnapi_shim.formats.tflite.exporting.exporter import serialized
from nnapi_shim.formats.tflite.exporting.subgraph import Subgraph
from nnapi_shim.formats.tflite.exporting.table import TfliteBuilder
from nnapi_shim.hal.types import Model


def reasons(model: Model, declined: Declined) -> list[str]:
    """Why each operation of the main graph cannot be written, or "" if it can."""
    builder = TfliteBuilder()
    builder.subgraphs.append(Subgraph("main", [], [], builder.emitted))  # before those of IF, WHILE
    return exchange.reasons(model, builder, declined)


def written(model: Model) -> tuple[bytes, list[str], list[str]]:
    """The .tflite file of a model, and the names of its inputs and outputs.

    Raises BAD_DATA as `export`.
    """
    graph = graph_of(model)
    inputs, outputs = ([each.name for each in it] for it in (graph.inputs, graph.outputs))
    return serialized(graph), inputs, outputs


class _Tflite:
    """savers.Exchange."""

    reasons = staticmethod(reasons)
    written = staticmethod(written)


savers.register_exchange(".tflite", _Tflite())
