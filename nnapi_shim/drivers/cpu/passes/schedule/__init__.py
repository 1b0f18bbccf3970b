"""Passes over the steps that a graph was lowered to."""
