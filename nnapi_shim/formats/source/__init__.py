"""Source code that builds a model."""
