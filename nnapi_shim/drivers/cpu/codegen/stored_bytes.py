"""Bytes of tensors as integers: without their zero point, and their sums."""

from typing import Any

from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.numeric import u8
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, HALFWORD, vector
from nnapi_shim.drivers.cpu.toolchain.kernel import helper


@emits(types.int16(types.uint8, types.int64, types.int64))
def centered(builder: Any, value: Any, flip: Any, zero: Any) -> Any:
    """int8(value xor flip) - zero, in integers no wider than the result."""
    signed = builder.xor(value, builder.trunc(flip, BYTE))
    return builder.sub(builder.sext(signed, HALFWORD), builder.trunc(zero, HALFWORD))


@emits(types.int64(types.int64, types.int64))
def _sum_of_16_bytes(builder: Any, address: Any, flip: Any) -> Any:
    """The sum of 16 bytes xor flip."""
    value = builder.load_from(address, vector(BYTE, 16), 1)
    value = builder.xor(value, builder.splat(builder.trunc(flip, BYTE), 16))
    return ISA.sum_of_16_bytes(builder, value)


@helper
def sum_of_bytes(x, count, flip):
    """The sum of bytes xor flip at an address."""
    total, at = 0, 0
    while at + 16 <= count:
        total += _sum_of_16_bytes(x + at, flip)
        at += 16
    rest = u8(x)
    for k in range(at, count):
        total += rest[k] ^ flip
    return total
