"""LLVM vector code: the few helpers that the emitters of micro-kernels share.

Emitters keep their state in `variables` (stack slots): the optimiser turns them into registers, and
the emitter reads like the loop it writes.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

BIT, BYTE, HALFWORD, WORD, LONG = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
HALF, FLOAT, DOUBLE = ir.HalfType(), ir.FloatType(), ir.DoubleType()
VOID, POINTER = ir.VoidType(), ir.PointerType()


def vector(element: Any, lanes: int) -> Any:
    """<lanes x element>."""
    return ir.VectorType(element, lanes)


def long(value: int) -> Any:
    """A constant of 64 bits."""
    return ir.Constant(LONG, value)


def constant(kind: Any, value: Any) -> Any:
    """A constant of a type: of a vector, in every lane."""
    return ir.Constant(kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value)


def with_lanes_of(kind: Any, element: Any) -> Any:
    """The element, or a vector of as many as the type `kind` has lanes."""
    return vector(element, kind.count) if isinstance(kind, ir.VectorType) else element


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


def call(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    """Call an LLVM intrinsic by its full name, or a function of the C library."""
    declared = builder.module.globals.get(name)
    if declared is None:
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        declared = ir.Function(builder.module, kind, name)
    return builder.call(declared, arguments)


def call_same(builder: Any, name: str, *arguments: Any) -> Any:
    """Call an LLVM intrinsic, by its name without a type, whose result has the arguments' type."""
    kind = arguments[0].type
    return call(builder, f"{name}.{_type_name(kind)}", kind, *arguments)


def _type_name(kind: Any) -> str:
    """As LLVM has it in the names of intrinsics: f32, v8i16."""
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{_type_name(kind.element)}"
    return kind.intrinsic_name


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


def lanes_before(builder: Any, count: Any, lanes: int) -> Any:
    """The mask of the first `count` lanes; its lanes are as wide as the integer `count`."""
    numbers = ir.Constant(vector(count.type, lanes), [*range(lanes)])
    return builder.icmp_signed("<", numbers, splat(builder, count, lanes))


def masked_load(builder: Any, address: Any, fill: Any, mask: Any, align: int) -> Any:
    """The lanes of a mask from an address; those of `fill` elsewhere, where nothing is read."""
    pointer = builder.inttoptr(address, POINTER)
    name = f"llvm.masked.load.{_type_name(fill.type)}.p0"
    return call(builder, name, fill.type, pointer, WORD(align), mask, fill)


def masked_store(builder: Any, value: Any, address: Any, mask: Any, align: int) -> None:
    """The lanes of a mask to an address."""
    pointer = builder.inttoptr(address, POINTER)
    name = f"llvm.masked.store.{_type_name(value.type)}.p0"
    call(builder, name, VOID, value, pointer, WORD(align), mask)


def prefetch(builder: Any, address: Any, writes: bool = False, locality: int = 3) -> None:
    """Prefetch a cache line, to be read or written; the address need not be valid.

    locality: 3 for the first-level cache, 2 for the second-level one.
    """
    pointer = builder.inttoptr(address, POINTER)
    call(builder, "llvm.prefetch.p0", VOID, pointer, WORD(int(writes)), WORD(locality), WORD(1))


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


def clamp_integers(builder: Any, value: Any, low: Any, high: Any) -> Any:
    """min(max(value, low), high) on signed integers."""
    value = builder.select(builder.icmp_signed("<", value, low), low, value)
    return builder.select(builder.icmp_signed(">", value, high), high, value)
