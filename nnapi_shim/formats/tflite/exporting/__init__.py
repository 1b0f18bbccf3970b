"""Export to TensorFlow Lite; `save` calls `export`."""

from nnapi_shim.formats.tflite.exporting.exporter import export as export
