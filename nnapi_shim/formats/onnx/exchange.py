"""Models of the HAL as .onnx in memory, for the engines that read it (drivers/engines)."""

from typing import Any

from nnapi_shim import savers
from nnapi_shim.errors import bad_data
from nnapi_shim.extras import install_command
from nnapi_shim.formats.graph import exchange
from nnapi_shim.formats.graph.exchange import Declined, view_of
from nnapi_shim.formats.graph.reading import is_large, read_graph
from nnapi_shim.formats.onnx.exporting.exporter import expressed_graph
from nnapi_shim.formats.onnx.exporting.table import OnnxBuilder
from nnapi_shim.formats.onnx.exporting.unsigned import made_unsigned
from nnapi_shim.hal.types import Model


def reasons(model: Model, declined: Declined, any_size: bool = False) -> list[str]:
    """As savers.Exchange."""
    why = "the rank of an output is not known, and ONNX requires it of one that leaves the model"
    return exchange.reasons(model, OnnxBuilder(), declined, any_size, why)


def written(
    model: Model, external: dict[str, Any] | None = None
) -> tuple[bytes, list[str], list[str]]:
    """The .onnx file of a model, and the names of its inputs and outputs.

    external: as in savers.Exchange; the names are those of ONNX's external data. Raises BAD_DATA as
    `export`.
    """
    try:
        from nnapi_shim.formats.onnx.exporting.writing import written_with_names
    except ImportError as error:
        command = install_command("onnx")
        raise bad_data(
            f"the package {error.name} is missing; `{command}` installs it",
            "export.package-missing",
        ) from None
    view = view_of(model)
    graph, nodes = expressed_graph(read_graph(view, external is not None))
    made_unsigned(nodes, graph)
    return written_with_names(graph, nodes, external if is_large(view) else None)


class _Onnx:
    """savers.Exchange."""

    reasons = staticmethod(reasons)
    written = staticmethod(written)


savers.register_exchange(".onnx", _Onnx())
