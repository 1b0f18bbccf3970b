"""Exports a model as .tflite bytes."""

from pathlib import Path

from nnapi_shim.api.model import Model
from nnapi_shim.errors import bad_data
from nnapi_shim.extras import install_command
from nnapi_shim.formats.graph.reading import read
from nnapi_shim.formats.graph.tensor import ExportGraph
from nnapi_shim.formats.output_file import Target


def export(model: Model, path: Path) -> dict[Target, bytes]:
    """The .tflite file of a finished model. Raises BAD_DATA with all operations that TensorFlow
    Lite cannot express, and if packages of the extra `tflite` are missing.
    """
    return {path: serialized(read(model))}


def serialized(graph: ExportGraph) -> bytes:
    """The .tflite file of a graph; raises as `export`."""
    try:
        from nnapi_shim.formats.tflite.exporting.writing import written
    except ImportError as error:
        command = install_command("tflite")
        raise bad_data(
            f"the package {error.name} is missing; `{command}` installs it",
            "export.package-missing",
        ) from None
    from nnapi_shim.formats.tflite.exporting.carried import with_variables
    from nnapi_shim.formats.tflite.exporting.cells import keep_states
    from nnapi_shim.formats.tflite.exporting.table import TfliteBuilder

    keep_states(graph)
    builder = TfliteBuilder()
    index = builder.subgraph(graph, "main")
    assert index == 0
    builder.finish()
    with_variables(builder, graph)
    return written(builder.subgraphs)
