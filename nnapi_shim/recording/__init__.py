"""Captures: the calls that a program has made, in a file (docs/capture.md).

What writes them (abi/capture.py) and what reads them (formats/capture) agree on what stands here.
Nothing in this folder knows the runtime, and what writes needs no numpy.
"""
