"""Models in Google's Model Explorer (the package ai-edge-model-explorer, the extra `explorer`).

`model-explorer --extensions=nnapi_shim.pictures.explorer model.tflite` shows a file as an NNAPI
model: Model Explorer imports `main` of this package. `nnapi-shim graph` adds measurements.
"""
