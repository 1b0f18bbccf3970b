"""Import of .onnx files: operators as NNAPI operations."""
