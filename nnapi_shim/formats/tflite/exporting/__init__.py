"""Models to TensorFlow Lite's files: `export` is what `save` calls."""

from nnapi_shim.formats.tflite.exporting.exporter import export as export
