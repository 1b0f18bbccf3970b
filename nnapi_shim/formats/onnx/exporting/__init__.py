"""Models to ONNX files: `export` is what `save` calls."""

from nnapi_shim.formats.onnx.exporting.exporter import export as export
