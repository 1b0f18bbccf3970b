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
    declared = module.globals.get(name)
    return declared or ir.Function(module, ir.FunctionType(result, arguments), name)


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


def clamp_integers(builder: Any, value: Any, low: Any, high: Any) -> Any:
    """min(max(value, low), high) on signed integers."""
    value = builder.select(builder.icmp_signed("<", value, low), low, value)
    return builder.select(builder.icmp_signed(">", value, high), high, value)
