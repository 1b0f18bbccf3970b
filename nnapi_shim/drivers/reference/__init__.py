"""The reference device: every operation as its formula, in plain numpy.

It takes what no other device takes, and is what all others are tested against. Its formulas share
no code with the shape functions of the declarations or with the CPU device: each checks the rest.
"""
