"""The Python face: models, compilations and executions with numpy arrays and exceptions.

The names that programs use are attributes of the package nnapi_shim itself.
"""
