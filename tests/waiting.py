"""How long tests wait for programs before they take them to hang."""

HANGS_S = 600
"""Seconds that no program needs on however busy a machine: the slowest take 20 on a quiet one."""
