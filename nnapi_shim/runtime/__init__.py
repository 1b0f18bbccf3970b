"""NNAPI's objects and their state rules; knows nothing of C and nothing of kernels."""
