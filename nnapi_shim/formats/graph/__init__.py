"""A model as a graph that exporters lower to the nodes of another format.

`reading` reads a model into an `ExportGraph`. An `ExportBuilder` lowers each operation by a table
of rules and collects the emitted nodes. `expansion` holds rules that all formats share: operations
decomposed into simpler ones.
"""
