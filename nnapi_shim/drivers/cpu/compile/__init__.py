"""A graph becomes a program: binding, constants, segments, layout."""
