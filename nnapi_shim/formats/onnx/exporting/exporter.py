"""Exports a model as .onnx bytes."""

from pathlib import Path

from nnapi_shim.api.model import Model
from nnapi_shim.errors import bad_data
from nnapi_shim.extras import install_command
from nnapi_shim.formats.graph.builder import Emitted
from nnapi_shim.formats.graph.reading import read
from nnapi_shim.formats.graph.tensor import ExportGraph
from nnapi_shim.formats.output_file import Target
from nnapi_shim.hal.quantization import SCALARS


def export(model: Model, path: Path) -> dict[Target, bytes]:
    """The .onnx file of a finished model. Raises BAD_DATA with all operations that ONNX cannot
    express, and if the package of the extra `onnx` is missing.
    """
    try:
        from nnapi_shim.formats.onnx.exporting.writing import written
    except ImportError as error:
        command = install_command("onnx")
        raise bad_data(
            f"the package {error.name} is missing; `{command}` installs it",
            "export.package-missing",
        ) from None
    graph, nodes = expressed(model)
    return {path: written(graph, nodes)}


def expressed(model: Model) -> tuple[ExportGraph, list[Emitted]]:
    """The graph of a finished model and the ONNX nodes that express it."""
    return expressed_graph(read(model))


def expressed_graph(graph: ExportGraph) -> tuple[ExportGraph, list[Emitted]]:
    """A graph and the ONNX nodes that express it."""
    from nnapi_shim.formats.onnx.exporting.table import OnnxBuilder
    from nnapi_shim.formats.onnx.exporting.transpositions import sunk

    builder = OnnxBuilder()
    builder.run(graph)
    builder.finish()
    for t in graph.outputs:
        if not t.dimensions and t.type not in SCALARS:
            raise bad_data(
                f"output {t.name} has no known rank, which ONNX requires",
                "export.onnx.unknown-rank",
            )
    return graph, sunk(builder.emitted, graph.outputs)
