"""LLVM vector code: the few helpers that the emitters of micro-kernels share.

Emitters keep their state in `variables` (stack slots): the optimiser turns them into registers, and
the emitter reads like the loop it writes.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

BYTE, HALFWORD, WORD, LONG = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)
FLOAT, VOID, POINTER = ir.FloatType(), ir.VoidType(), ir.PointerType()


def vector(element: Any, lanes: int) -> Any:
    """<lanes x element>."""
    return ir.VectorType(element, lanes)


def long(value: int) -> Any:
    """A constant of 64 bits."""
    return ir.Constant(LONG, value)


def function(module: Any, name: str, arguments: Sequence[Any]) -> tuple[Any, bool]:
    """The function `void name(arguments)` of a module, and whether it still needs a body.

    Not inlined: a micro-kernel has the registers to itself.
    """
    if name in module.globals:
        return module.globals[name], False
    made = ir.Function(module, ir.FunctionType(VOID, arguments), name)
    made.linkage = "linkonce_odr"
    made.attributes.add("noinline")
    return made, True


def declaration(module: Any, name: str, result: Any, arguments: Sequence[Any]) -> Any:
    """Declaration of an LLVM intrinsic under its full name."""
    found = module.globals.get(name)
    return found or ir.Function(module, ir.FunctionType(result, arguments), name)


def variable(builder: Any, kind: Any, value: Any = None) -> Any:
    """A stack slot in the entry block."""
    with builder.goto_entry_block():
        slot = builder.alloca(kind)
    if value is not None:
        builder.store(value, slot)
    return slot


def load(builder: Any, address: Any, kind: Any, align: int) -> Any:
    """Load from an address."""
    result = builder.load(builder.inttoptr(address, POINTER), typ=kind)
    result.align = align
    return result


def store(builder: Any, value: Any, address: Any, align: int) -> None:
    """Store to an address."""
    builder.store(value, builder.inttoptr(address, POINTER)).align = align


def splat(builder: Any, value: Any, lanes: int) -> Any:
    """The value in every lane."""
    kind = vector(value.type, lanes)
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(WORD, 0))
    zeros = ir.Constant(vector(WORD, lanes), [0] * lanes)
    return builder.shuffle_vector(single, ir.Constant(kind, ir.Undefined), zeros)


def pick(builder: Any, value: Any, lanes: Sequence[int]) -> Any:
    """The named lanes of a vector as a vector."""
    order = ir.Constant(vector(WORD, len(lanes)), list(lanes))
    return builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), order)


def join(builder: Any, parts: Sequence[Any]) -> Any:
    """Vectors one after another."""
    result = parts[0]
    for part in parts[1:]:
        have, more = result.type.count, part.type.count
        if more < have:  # shuffles take operands of one type
            part = pick(builder, part, [*range(more), *[0] * (have - more)])
        order = ir.Constant(vector(WORD, have + more), [*range(have + more)])
        result = builder.shuffle_vector(result, part, order)
    return result


def clamp(builder: Any, value: Any, low: Any, high: Any) -> Any:
    """min(max(value, low), high) on floats; NaN stays NaN."""
    value = builder.select(builder.fcmp_ordered("<", value, low), low, value)
    return builder.select(builder.fcmp_ordered(">", value, high), high, value)


def multiply_add(builder: Any, x: Any, y: Any, total: Any, fused: bool) -> Any:
    """X * y + total on float vectors."""
    if not fused:
        return builder.fadd(builder.fmul(x, y), total)
    kind = x.type
    fma = declaration(builder.module, f"llvm.fma.v{kind.count}f32", kind, [kind] * 3)
    return builder.call(fma, [x, y, total])


def dot_pairs(builder: Any, x: Any, y: Any, dot: str) -> Any:
    """Products of 16-bit lanes, summed in pairs: <2n x i16>, <2n x i16> -> <n x i32>, exact."""
    lanes = x.type.count // 2
    wide = vector(WORD, lanes)
    if dot:
        return builder.call(declaration(builder.module, dot, wide, [x.type] * 2), [x, y])
    products = []
    for first in (0, 1):
        every_other = range(first, 2 * lanes, 2)
        a, b = (builder.sext(pick(builder, operand, every_other), wide) for operand in (x, y))
        products.append(builder.mul(a, b))
    return builder.add(*products)


def clamp_integers(builder: Any, value: Any, low: Any, high: Any) -> Any:
    """min(max(value, low), high) on signed integers."""
    value = builder.select(builder.icmp_signed("<", value, low), low, value)
    return builder.select(builder.icmp_signed(">", value, high), high, value)


_CONVERSIONS = {
    4: "llvm.x86.sse2.cvtps2dq",
    8: "llvm.x86.avx.cvt.ps2dq.256",
    16: "llvm.x86.avx512.mask.cvtps2dq.512",
}


def rounded(builder: Any, value: Any, by_instruction: bool) -> Any:
    """Floats to the nearest int32. What does not fit becomes -2^31 by the instruction, and else the
    number next to it.
    """
    lanes = value.type.count
    kind = vector(WORD, lanes)
    if not by_instruction:
        # A number this large has no bits behind the point.
        magic = ir.Constant(value.type, [1.5 * 2.0**23] * lanes)
        whole = builder.fsub(builder.fadd(value, magic), magic)
        name = f"llvm.fptosi.sat.v{lanes}i32.v{lanes}f32"
        return builder.call(declaration(builder.module, name, kind, [value.type]), [whole])
    arguments = [value]
    if lanes == 16:  # what lanes without a mask get, the mask, the rounding of the processor's mode
        arguments += [ir.Constant(kind, None), ir.Constant(HALFWORD, -1), ir.Constant(WORD, 4)]
    kinds = [argument.type for argument in arguments]
    return builder.call(declaration(builder.module, _CONVERSIONS[lanes], kind, kinds), arguments)


_PACKS = {128: "llvm.x86.sse2.{}.128", 256: "llvm.x86.avx2.{}", 512: "llvm.x86.avx512.{}.512"}


def packed(builder: Any, a: Any, b: Any, by_instruction: bool) -> Any:
    """The elements of two vectors, saturated to half their size: one vector. The instructions take
    128 bits of a, 128 bits of b and so on, otherwise b follows a.
    """
    count, bits = a.type.count, a.type.element.width
    half = ir.IntType(bits // 2)
    if by_instruction:
        name = _PACKS[count * bits].format("packssdw" if bits == 32 else "packsswb")
        kind = vector(half, 2 * count)
        return builder.call(declaration(builder.module, name, kind, [a.type] * 2), [a, b])
    low, high = (
        ir.Constant(a.type, [bound] * count)
        for bound in (-(2 ** (bits // 2 - 1)), 2 ** (bits // 2 - 1) - 1)
    )
    parts = [clamp_integers(builder, x, low, high) for x in (a, b)]
    return join(builder, [builder.trunc(x, vector(half, count)) for x in parts])
