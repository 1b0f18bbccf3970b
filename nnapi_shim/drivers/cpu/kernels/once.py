"""Loads that happen exactly once, for what decides an address or the end of a loop.

Another thread or process may write to the memory of inputs meanwhile. The compiler may repeat an
ordinary load where its value is used again, and then what is used is not what was checked.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from nnapi_shim.drivers.cpu.kernels.kernel import helper


class _VolatileLoad(ir.instructions.LoadInstr):  # type: ignore[misc]
    """llvmlite has no word for it."""

    def descr(self, buf: Any) -> None:
        """The text of the instruction."""
        pointer = self.operands[0]
        buf.append(
            f"load volatile {self.type}, {pointer.type} {pointer.get_reference()}, "
            f"align {self.align}{self._stringify_metadata(leading_comma=True)}\n"
        )


def _once(element: types.Type, stored: Any) -> Any:
    """An intrinsic read(address, index) -> element."""

    @intrinsic
    def read(typing_context: Any, address: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            base = builder.inttoptr(arguments[0], ir.PointerType())
            place = builder.gep(base, [arguments[1]], source_etype=stored)
            load = _VolatileLoad(builder.block, place, typ=stored)
            load.align = 1
            builder._insert(load)
            return load

        return element(types.int64, types.int64), generate

    return read


once_i32 = _once(types.int32, ir.IntType(32))
once_f32 = _once(types.float32, ir.FloatType())


@helper
def once_box(boxes, number):
    """The four float32 numbers of a box."""
    at = 4 * number
    return (
        once_f32(boxes, at),
        once_f32(boxes, at + 1),
        once_f32(boxes, at + 2),
        once_f32(boxes, at + 3),
    )
