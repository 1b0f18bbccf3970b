"""Models as .onnx files whose quantized nodes ONNX Runtime computes as such."""

from pathlib import Path

from nnapi_shim import Model
from nnapi_shim.formats.onnx.exporting.exporter import expressed
from nnapi_shim.formats.onnx.exporting.unsigned import made_unsigned
from nnapi_shim.formats.onnx.exporting.writing import written


def save(model: Model, path: Path) -> None:
    """Write it; raises as Model.save does."""
    graph, nodes = expressed(model)
    made_unsigned(nodes, graph)
    path.write_bytes(written(graph, nodes))
