"""The CPU device: models as flat programs of compiled kernels."""
