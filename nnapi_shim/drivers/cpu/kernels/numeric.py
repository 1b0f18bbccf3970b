"""Typed pointers, number conversions and other helpers that kernels share; all are inlined."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _pointer(element: types.Type) -> Any:
    """An intrinsic that turns an address into a pointer, to be indexed like an array."""

    @intrinsic  # type: ignore[untyped-decorator]
    def pointer(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], ir.PointerType())

        return types.CPointer(element)(types.int64), generate

    return pointer


f32 = _pointer(types.float32)
f64 = _pointer(types.float64)
i8 = _pointer(types.int8)
u8 = _pointer(types.uint8)
i16 = _pointer(types.int16)
u16 = _pointer(types.uint16)
i32 = _pointer(types.int32)
u32 = _pointer(types.uint32)
i64 = _pointer(types.int64)
