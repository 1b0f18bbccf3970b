"""The file format of captures: recorded calls of a program (docs/capture.md).

Shared by the writer (abi/capture.py) and the readers (formats/capture). Imports nothing of the
runtime; writing needs no numpy.
"""
