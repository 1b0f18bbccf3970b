"""A model checker for the protocols of the C code, with the memory orders of C11."""
