"""Models of the HAL as .onnx in memory, for the engines that read it (drivers/engines)."""

from nnapi_shim import savers
from nnapi_shim.errors import bad_data
from nnapi_shim.extras import install_command
from nnapi_shim.formats.graph import exchange
from nnapi_shim.formats.graph.exchange import Declined, graph_of
from nnapi_shim.formats.onnx.exporting.exporter import expressed_graph
from nnapi_shim.formats.onnx.exporting.table import OnnxBuilder
from nnapi_shim.formats.onnx.exporting.unsigned import made_unsigned
from nnapi_shim.hal.types import Model


def reasons(model: Model, declined: Declined) -> list[str]:
    """Why each operation of the main graph cannot be written, or "" if it can."""
    return exchange.reasons(model, OnnxBuilder(), declined)


def written(model: Model) -> tuple[bytes, list[str], list[str]]:
    """The .onnx file of a model, and the names of its inputs and outputs.

    Raises BAD_DATA as `export`.
    """
    try:
        from nnapi_shim.formats.onnx.exporting.writing import written_with_names
    except ImportError as error:
        command = install_command("onnx")
        raise bad_data(
            f"the package {error.name} is missing; `{command}` installs it",
            "export.package-missing",
        ) from None
    graph, nodes = expressed_graph(graph_of(model))
    made_unsigned(nodes, graph)
    return written_with_names(graph, nodes)


class _Onnx:
    """savers.Exchange."""

    reasons = staticmethod(reasons)
    written = staticmethod(written)


savers.register_exchange(".onnx", _Onnx())
