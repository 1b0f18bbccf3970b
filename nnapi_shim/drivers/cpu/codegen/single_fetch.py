"""Loads that happen exactly once, against double fetches of addresses and loop bounds.

Another thread or process may write to the memory of inputs during a run. The compiler may repeat an
ordinary load, and the value that is used is then not the value that was checked.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

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
    """An intrinsic read(address, index) -> element."""

    @intrinsic
    def read(typing_context: Any, address: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            base = builder.inttoptr(arguments[0], ir.PointerType())
            pointer = builder.gep(base, [arguments[1]], source_etype=stored)
            load = _VolatileLoad(builder.block, pointer, typ=stored)
            load.align = 1
            builder._insert(load)
            return load

        return element(types.int64, types.int64), generate

    return read


fetch_i32 = _single_fetch(types.int32, ir.IntType(32))
fetch_f32 = _single_fetch(types.float32, ir.FloatType())


BLOCK = 512
"""Words of a private block."""


@intrinsic
def private_block(typing_context: Any) -> Any:
    """Address of memory for BLOCK words on the stack, the same at every call in a kernel."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block = cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(32), BLOCK))
        return builder.ptrtoint(block, ir.IntType(64))

    return types.int64(), generate


@intrinsic
def fetch_block(typing_context: Any, target: Any, source: Any, length: Any) -> Any:
    """Copy memory with volatile loads, so that the copy is read from then on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, word, bit = ir.PointerType(), ir.IntType(64), ir.IntType(1)
        pointers = [builder.inttoptr(address, pointer) for address in arguments[:2]]
        kind = ir.FunctionType(ir.VoidType(), [pointer, pointer, word, bit])
        name = "llvm.memcpy.p0.p0.i64"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        builder.call(function, [*pointers, arguments[2], ir.Constant(bit, 1)])  # 1: volatile
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


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
