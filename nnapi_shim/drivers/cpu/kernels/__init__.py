"""The loops of the CPU device: the only package that imports numba.

Imported to build the kernel libraries, and to compile a kernel that they lack.
"""

from importlib import import_module

FAMILIES = (
    "activation",
    "binary",
    "bind",
    "comparison",
    "control_flow",
    "conversion",
    "convolution",
    "depthwise",
    "depthwise_quantized",
    "detection",
    "digest",
    "gemm",
    "joining",
    "lstm",
    "lstm_quantized",
    "logical",
    "lookup",
    "matmul",
    "normalization",
    "packing",
    "pooling",
    "proposal",
    "real",
    "rearrange",
    "reduction",
    "reshape",
    "resize",
    "roi",
    "rnn",
    "sampling",
    "selection",
    "softmax",
    "strided",
    "topk",
    "unary",
    "winograd",
)
"""Files of kernels: those with the names of the families in operations/, what several of them use
(gemm, depthwise, packing, real, rearrange, strided), `winograd`, `digest` and `bind`."""


def load(family: str) -> None:
    """Import a file of kernels, which registers them in kernel.KERNELS."""
    import_module(f"{__name__}.{family}")
