"""Typed pointers, number conversions and other helpers that kernels share; all are inlined.

What is written here is scalar; the compiler turns it into vectors with the loop around. So there
are no branches, no calls and no integers wider than they need to be: Python integers are 64 bits
wide, which would halve the lanes, hence the few intrinsics that name 32 bits.
"""

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.vector import DOUBLE, FLOAT, HALF, HALFWORD, LONG, POINTER, WORD
from nnapi_shim.drivers.cpu.toolchain.kernel import helper


def _pointer(element: types.Type) -> Any:
    """An intrinsic that turns an address into a pointer, to be indexed like an array."""

    @intrinsic
    def pointer(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

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


def words(*names: str) -> Any:
    """A function of kernels: these fields of a record, which are int64, as int32."""

    @intrinsic
    def read(typing_context: Any, record: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            [record], [value] = signature.args, arguments
            fields = [
                context.get_getattr(record, name)(context, builder, record, value, name)
                for name in names
            ]
            numbers = [builder.trunc(field, WORD) for field in fields]
            return context.make_tuple(builder, signature.return_type, numbers)

        return types.UniTuple(types.int32, len(names))(record), generate

    return read


# Numbers

_of_float = emits(types.float32(types.float32))
_float_to_int = emits(types.int32(types.float32))
bits_of = _float_to_int(lambda b, x: b.bitcast(x, WORD))
float_of = emits(types.float32(types.int32))(lambda b, x: b.bitcast(x, FLOAT))
bits64_of = emits(types.int64(types.float64))(lambda b, x: b.bitcast(x, LONG))
float64_of = emits(types.float64(types.int64))(lambda b, x: b.bitcast(x, DOUBLE))
truncated = _float_to_int(lambda b, x: b.fptosi(x, WORD))
"""Toward zero; the value must fit an int32."""

nearest = _float_to_int(lambda b, x: b.call_by_name("llvm.lrint.i32.f32", WORD, x))
"""To the nearest int32, halves to even, in one instruction."""

square_root = _of_float(lambda b, x: b.call_same("llvm.sqrt", x))
"""One instruction; numpy's would call the C library where no vector is filled."""


@emits(types.void(types.int64, types.int64, types.int64))
def copy_bytes(builder: Any, target: Any, source: Any, length: Any) -> None:
    """Copy memory that does not overlap (the C library's memcpy, or less for a constant length)."""
    pointers = [builder.inttoptr(address, POINTER) for address in (target, source)]
    cgutils.raw_memcpy(builder, *pointers, length, 1)


def arithmetic(element: types.Type, emit: Any) -> Any:
    """A function of kernels of two arguments, all of one type; emit(builder, x, y) -> value."""
    return emits(element(element, element))(emit)


add32 = arithmetic(types.int32, lambda b, x, y: b.add(x, y))
multiply32 = arithmetic(types.int32, lambda b, x, y: b.mul(x, y))
xor32 = arithmetic(types.int32, lambda b, x, y: b.xor(x, y))
and32 = arithmetic(types.int32, lambda b, x, y: b.and_(x, y))
shift_right32 = arithmetic(types.int32, lambda b, x, y: b.ashr(x, y))
add_any_order = arithmetic(types.float32, lambda b, x, y: b.fadd(x, y, flags=["reassoc"]))
add_any_order_f64 = arithmetic(types.float64, lambda b, x, y: b.fadd(x, y, flags=["reassoc"]))
multiply_any_order_f64 = arithmetic(types.float64, lambda b, x, y: b.fmul(x, y, flags=["reassoc"]))
"""A step of a sum or product whose order does not matter: it may be taken in several parts at once.
"""


larger_number = arithmetic(types.float32, lambda b, x, y: b.call_same("llvm.maximumnum", x, y))
"""The larger of two float32; where one is NaN, the other. Loops that keep the largest number of
many vectorise with it, which they do not with a comparison.
"""

multiply_add = emits(types.float32(*[types.float32] * 3))(
    lambda b, x, y, z: b.call_same("llvm.fmuladd", x, y, z)
)
"""The sum x * y + z in float32, rounded once where the processor has an instruction for it."""


@helper
def clamp(x, low, high):
    """min(max(x, low), high); NaN stays NaN."""
    x = low if x < low else x
    return high if x > high else x


@helper
def bounded(x, low, high):
    """min(max(x, low), high); NaN becomes `low`."""
    x = x if x > low else low
    return x if x < high else high


SIGN = np.int32(-(2**31))
ALMOST_HALF = np.float32(0.49999997).view(np.int32)
"""The largest float32 below 1/2: adding 1/2 itself would carry that very number up to 1."""


@helper
def rounded(x):
    """The nearest integer as an int32, halves away from zero; |x| is below 2^23."""
    return truncated(x + float_of((bits_of(x) & SIGN) | ALMOST_HALF))


@helper
def ordered(x):
    """An int32 that compares as x does; NaN lies beyond the infinity of its sign."""
    bits = bits_of(x)
    return xor32(bits, (bits >> 31) & 0x7FFFFFFF)


@helper
def from_ordered(key):
    """The x of `ordered`."""
    return float_of(xor32(key, (key >> 31) & 0x7FFFFFFF))


# float16: numba has no such number on CPUs, so it is stored and passed as its 16 bits.


def emit_half_to_float(builder: Any, half: Any) -> Any:
    """From i16 to float, exact."""
    if ISA.tier.float16:
        return builder.fpext(builder.bitcast(half, HALF), FLOAT)
    # The exponent of a half is rebased by a multiplication, which also carries infinity and NaN
    # over. A subnormal half is m * 2^-24: m is put under the exponent of 1/2, whose last bit is
    # worth that, and 1/2 subtracted.
    bits = builder.zext(half, WORD)
    magnitude = builder.and_(bits, WORD(0x7FFF))
    shifted = builder.add(builder.shl(magnitude, WORD(13)), WORD(0xE0 << 23))
    normal = builder.fmul(builder.bitcast(shifted, FLOAT), FLOAT(2.0**-112))
    small = builder.bitcast(builder.or_(magnitude, WORD(0x3F000000)), FLOAT)
    subnormal = builder.fsub(small, FLOAT(0.5))
    is_small = builder.icmp_unsigned("<", magnitude, WORD(0x0400))
    value = builder.bitcast(builder.select(is_small, subnormal, normal), WORD)
    sign = builder.shl(builder.xor(bits, magnitude), WORD(16))
    return builder.bitcast(builder.or_(value, sign), FLOAT)


def emit_float_to_half(builder: Any, value: Any) -> Any:
    """From float to i16, to the nearest, halves to even; overflow becomes infinity."""
    if ISA.tier.float16:
        return builder.bitcast(builder.fptrunc(value, HALF), HALFWORD)
    bits = builder.bitcast(value, WORD)
    magnitude = builder.and_(bits, WORD(0x7FFFFFFF))
    # 2^16 and above is infinity, NaN stays NaN.
    is_nan = builder.icmp_unsigned(">", magnitude, WORD(0x7F800000))
    large = builder.select(is_nan, WORD(0x7E00), WORD(0x7C00))
    # Below 2^-14 the last bit is worth 2^-24, as that of 1/2 in a float32: the addition rounds.
    half = FLOAT(0.5)
    sum = builder.fadd(builder.bitcast(magnitude, FLOAT), half)
    small = builder.sub(builder.bitcast(sum, WORD), WORD(0x3F000000))
    # Else 13 bits are cut off after half of their worth, or just less, was added. What overflows
    # the mantissa increments the exponent; the sum of 65520 and above reads as infinity.
    odd = builder.and_(builder.lshr(magnitude, WORD(13)), WORD(1))
    rebased = builder.add(magnitude, WORD(0xC8000FFF))
    normal = builder.lshr(builder.add(rebased, odd), WORD(13))
    is_small = builder.icmp_unsigned("<", magnitude, WORD(0x38800000))
    is_large = builder.icmp_unsigned(">=", magnitude, WORD(0x47800000))
    result = builder.select(is_large, large, builder.select(is_small, small, normal))
    sign = builder.and_(builder.lshr(bits, WORD(16)), WORD(0x8000))
    return builder.trunc(builder.or_(result, sign), HALFWORD)


half_to_float = emits(types.float32(types.uint16))(emit_half_to_float)
float_to_half = emits(types.uint16(types.float32))(emit_float_to_half)
