"""Kernels in models of processors."""
