"""Quantized results by float32 first, recomputed exactly where rounding is ambiguous.

lowering/float_shortcut.py has the error bounds.
"""

import numpy as np
from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.numeric import and32, shift_right32
from nnapi_shim.drivers.cpu.codegen.vector import WORD
from nnapi_shim.drivers.cpu.lowering.float_shortcut import WINDOW
from nnapi_shim.drivers.cpu.toolchain.kernel import helper


@helper
def confidence_mask(bits):
    """Mask of the bits that are 0 where a number of units lies next to an integer."""
    return np.int32((1 << bits) - WINDOW)


nearest = emits(types.int32(types.float32))(
    lambda b, x: b.call_by_name("llvm.lrint.i32.f32", WORD, x)
)
"""To the nearest int32, halves to even, in one instruction."""


@helper
def requantize_shortcut(units, bits, confidence_mask, lowest, highest):
    """(needs exact recomputation, result within bounds) of units in float32."""
    fine = nearest(units)
    result = min(max(shift_right32(fine, bits), lowest), highest)
    return and32(fine, confidence_mask) == 0, result
