"""Loads that happen exactly once, against double fetches of addresses and loop bounds.

Another thread or process may write to the memory of inputs during a run. The compiler may repeat an
ordinary load, and the value that is used is then not the value that was checked.
"""

from typing import Any

from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.stack import array_on_stack
from nnapi_shim.drivers.cpu.codegen.vector import BIT, FLOAT, POINTER, VOID, WORD
from nnapi_shim.drivers.cpu.toolchain.kernel import helper


class _VolatileLoad(ir.instructions.LoadInstr):  # type: ignore[misc]
    """A volatile load, which llvmlite lacks."""

    def descr(self, buf: Any) -> None:
        """The text of the instruction."""
        pointer = self.operands[0]
        buf.append(
            f"load volatile {self.type}, {pointer.type} {pointer.get_reference()}, "
            f"align {self.align}{self._stringify_metadata(leading_comma=True)}\n"
        )


def _single_fetch(element: types.Type, stored: Any) -> Any:
    """A function of kernels read(address, index) -> element."""

    @emits(element(types.int64, types.int64))
    def read(builder: Any, address: Any, index: Any) -> Any:
        base = builder.inttoptr(address, POINTER)
        pointer = builder.gep(base, [index], source_etype=stored)
        load = _VolatileLoad(builder.block, pointer, typ=stored)
        load.align = 1
        builder._insert(load)
        return load

    return read


fetch_i32 = _single_fetch(types.int32, WORD)
fetch_f32 = _single_fetch(types.float32, FLOAT)


BLOCK = 512
"""Words of a private block."""


private_block = array_on_stack(WORD, BLOCK)
"""Memory of such a block."""


@emits(types.void(types.int64, types.int64, types.int64))
def fetch_block(builder: Any, target: Any, source: Any, length: Any) -> None:
    """Copy memory with volatile loads, so that the copy is read from then on."""
    pointers = [builder.inttoptr(address, POINTER) for address in (target, source)]
    is_volatile = BIT(1)
    builder.call_by_name("llvm.memcpy.p0.p0.i64", VOID, *pointers, length, is_volatile)


@helper
def fetch_box(boxes, number):
    """The four float32 numbers of a box."""
    at = 4 * number
    return (
        fetch_f32(boxes, at),
        fetch_f32(boxes, at + 1),
        fetch_f32(boxes, at + 2),
        fetch_f32(boxes, at + 3),
    )
