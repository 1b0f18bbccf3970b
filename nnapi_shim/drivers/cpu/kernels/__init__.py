"""The loops of the CPU device, a file per family of operations; they import numba.

Imported to build the kernel libraries, and to compile a kernel that they lack.
"""

from importlib import import_module

FAMILIES = (
    "activation",
    "binary",
    "bind",
    "byte_pairs",
    "comparison",
    "control_flow",
    "conversion",
    "depthwise",
    "depthwise_quantized",
    "dequantize",
    "detection",
    "digest",
    "gemm",
    "grouped_convolution",
    "half_precision",
    "joining",
    "layer_norm",
    "local_response",
    "lstm",
    "lstm_quantized",
    "logical",
    "lookup",
    "matmul",
    "normalization",
    "packing",
    "pooling",
    "proposal",
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
    "winograd_quantized",
)
"""Files of kernels: those with the names of the families in operations/; kernels that several use
(byte_pairs, gemm, depthwise, dequantize, half_precision, packing, strided); parts of large families
(depthwise_quantized, local_response, lstm_quantized, winograd, winograd_quantized); layer_norm for
a fused operation; `digest` and `bind`."""


def load(family: str) -> None:
    """Import a file of kernels, which registers them in kernel.KERNELS."""
    import_module(f"{__name__}.{family}")
