"""Runs of programs: from segment to segment, step by step where somebody observes."""
