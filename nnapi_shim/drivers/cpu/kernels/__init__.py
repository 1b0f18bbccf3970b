"""The loops of the CPU device, a file per family of operations; they import numba.

Imported to build the kernel libraries, and to compile a kernel that they lack. The files have the
names of the families in operations/; there are also kernels that several families use (byte_pairs,
depthwise, digit_products, gemm, half_precision, input_rows, packing, strided), parts of large
families (depthwise_quantized, local_response, lstm_quantized, topk, winograd, winograd_4x4,
winograd_quantized), layer_norm for a fused operation, `digest` and `bind`.
"""

from importlib import import_module
from pkgutil import iter_modules

FAMILIES = tuple(sorted(module.name for module in iter_modules(__path__)))
"""The files of kernels."""


def load(family: str) -> None:
    """Import a file of kernels, which registers them in kernel.KERNELS."""
    import_module(f"{__name__}.{family}")
