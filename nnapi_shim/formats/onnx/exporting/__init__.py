"""Export to ONNX; `save` calls `export`."""

from nnapi_shim.formats.onnx.exporting.exporter import export as export
