"""The program of a prepared model as it lies in memory: steps, frames, threads."""
