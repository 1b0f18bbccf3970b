"""Operators of TensorFlow Lite as NNAPI operations, as its own NNAPI delegate puts them.

What the delegate leaves to the processor and NNAPI can express all the same is here, too.
"""
