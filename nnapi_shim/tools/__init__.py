"""Analyses of models and devices, one module for each.

Functions take a finished model and return dataclasses with all results. Nothing here prints.
"""
