"""Lowers TensorFlow Lite operators to NNAPI operations, as TensorFlow Lite's NNAPI delegate does.

Also lowers operators that the delegate leaves to the CPU and NNAPI can express.
"""
