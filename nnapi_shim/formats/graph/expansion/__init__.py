"""Decompositions of operations that a format does not have."""
