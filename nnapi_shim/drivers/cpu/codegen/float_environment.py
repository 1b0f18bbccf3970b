"""The rounding mode of float32 instructions, as functions of kernels.

A kernel that changes it restores it before it returns. LLVM takes for granted that instructions
round to nearest: code that needs another mode runs in functions that are not inlined
(`Builder.outlined`), of numbers that come from memory, so that nothing is computed in advance. On
tiers that do not round down, these functions do nothing.
"""

from typing import Any

from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.toolchain.kernel import helper


@emits(types.int32())
def float_environment(builder: Any) -> Any:
    """The mode, and what belongs to it."""
    return ISA.float_environment(builder)


@emits(types.void(types.int32))
def _set_float_environment(builder: Any, environment: Any) -> None:
    ISA.set_float_environment(builder, environment)


@emits(types.int32(types.int32))
def _downward(builder: Any, environment: Any) -> Any:
    return ISA.downward(builder, environment)


@helper
def round_down(environment, is_down, wanted):
    """Change the rounding mode, and tell whether it is down. environment: the caller's."""
    if wanted != is_down:
        _set_float_environment(_downward(environment) if wanted else environment)
    return wanted
