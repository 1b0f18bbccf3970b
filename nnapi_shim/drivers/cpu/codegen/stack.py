"""Arrays on the stack of a kernel.

numba's `alloca_once` fills what it allocates with zeros, at every call of the kernel.
"""

from typing import Any

from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.vector import LONG


def array_on_stack(element: Any, count: int, align: int = 0) -> Any:
    """A function of kernels that gives the address of an array of its own, without contents: the
    same one in each iteration of a loop.

    align: bytes; 0: as the elements need.
    """
    kind = ir.ArrayType(element, count)

    @emits(types.int64())
    def array(builder: Any) -> Any:
        slot = builder.variable(kind)
        if align:
            slot.align = align
        return builder.ptrtoint(slot, LONG)

    return array
