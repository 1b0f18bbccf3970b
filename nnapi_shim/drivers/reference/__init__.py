"""The reference device: every operation as its formula, in plain numpy.

It runs operations that no other device supports, and is the oracle of the other devices' tests. Its
formulas share no code with the declarations' shape functions or the CPU device.
"""
