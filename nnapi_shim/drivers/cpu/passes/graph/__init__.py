"""Passes that rewrite a graph before it is lowered."""
