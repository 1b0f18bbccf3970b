"""Whether results depend on the number of threads: on every tier, with every model at hand."""
