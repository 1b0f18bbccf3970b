"""Faults in kernels of nnapi-cpu that the tests of their family have to find.

    python -m tests.kernel_mutations [--families pooling,softmax] [--tests FOLDER]

mutations.py: the faults. plugin.py: lets a run of pytest compile the faulty kernels by the JIT in
place of the built ones.
"""
