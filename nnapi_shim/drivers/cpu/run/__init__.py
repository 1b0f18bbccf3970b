"""Execution of programs: segment by segment, or step by step while runs are observed."""
