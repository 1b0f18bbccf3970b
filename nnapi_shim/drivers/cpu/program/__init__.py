"""The program of a prepared model in memory: steps, frames, threads."""
