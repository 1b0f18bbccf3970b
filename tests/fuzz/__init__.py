"""Random sequences of calls of the C API, valid, nearly valid and wrong, from several threads.

python -m tests.fuzz --calls 100000 --threads 4 --seed 7
"""
