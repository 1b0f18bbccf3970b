"""Trained models, from TensorFlow Lite files to NNAPI, as programs that use its delegate have them.

`flat_model.py` reads a file, `graph.py` and `operators.py` make an NNAPI model of it.
"""
