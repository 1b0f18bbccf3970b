"""The Python API: models, compilations and executions with numpy arrays and exceptions.

Programs use the names as attributes of the package nnapi_shim.
"""
