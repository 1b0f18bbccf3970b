"""A model as a graph that can be rewritten for another format.

`reading` makes it of a model; an `ExportBuilder` goes through it by a table with a rule for each
operation, and collects the nodes of the format. `expansion` holds rules that all formats share:
operations in terms of simpler operations.
"""
