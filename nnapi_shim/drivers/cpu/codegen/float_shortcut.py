"""Quantized results by float32 first, recomputed exactly where rounding is ambiguous.

lowering/float_shortcut.py has the error bounds.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from nnapi_shim.drivers.cpu.codegen.numeric import and32, shift_right32
from nnapi_shim.drivers.cpu.lowering.float_shortcut import WINDOW
from nnapi_shim.drivers.cpu.toolchain.kernel import helper


@helper
def confidence_mask(bits):
    """Mask of the bits that are 0 where a number of units lies next to an integer."""
    return np.int32((1 << bits) - WINDOW)


@intrinsic
def nearest(typing_context: Any, x: Any) -> Any:
    """To the nearest int32, halves to even, in one instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        name, word = "llvm.lrint.i32.f32", ir.IntType(32)
        function = builder.module.globals.get(name) or ir.Function(
            builder.module, ir.FunctionType(word, [ir.FloatType()]), name
        )
        return builder.call(function, arguments)

    return types.int32(types.float32), generate


@helper
def requantize_shortcut(units, bits, confidence_mask, lowest, highest):
    """(needs exact recomputation, result within bounds) of units in float32."""
    fine = nearest(units)
    result = min(max(shift_right32(fine, bits), lowest), highest)
    return and32(fine, confidence_mask) == 0, result
