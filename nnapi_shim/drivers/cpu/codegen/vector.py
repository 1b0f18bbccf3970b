"""LLVM vector code: the types, and the builder of the emitters.

Emitters keep their state in variables (stack slots): the optimiser turns them into registers, and
the emitter reads like the loop it writes.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import cgutils

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


def _type_name(kind: Any) -> str:
    """As LLVM has it in the names of intrinsics: f32, v8i16."""
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{_type_name(kind.element)}"
    return kind.intrinsic_name


class Builder(ir.IRBuilder):  # type: ignore[misc]
    """llvmlite's builder with what emitters of vector code need. Addresses are integers."""

    @classmethod
    def of(cls, builder: Any) -> "Builder":
        """A view of numba's builder, which shares its state."""
        view = cls.__new__(cls)
        view.__dict__ = builder.__dict__
        return view

    def outlined(self, name: str, arguments: Sequence[Any]) -> tuple[Any, bool]:
        """The function `void name(arguments)` of the module, and whether it still needs a body.

        Not inlined: a micro-kernel has the registers to itself.
        """
        if name in self.module.globals:
            return self.module.globals[name], False
        made = ir.Function(self.module, ir.FunctionType(VOID, arguments), name)
        made.linkage = "linkonce_odr"
        made.attributes.add("noinline")
        return made, True

    def call_by_name(self, name: str, result: Any, *arguments: Any) -> Any:
        """Call an LLVM intrinsic by its full name, or a function of the C library."""
        declared = self.module.globals.get(name)
        if declared is None:
            kind = ir.FunctionType(result, [argument.type for argument in arguments])
            declared = ir.Function(self.module, kind, name)
        return self.call(declared, arguments)

    def call_same(self, name: str, *arguments: Any) -> Any:
        """Call an LLVM intrinsic, by its name without a type, whose result has the arguments'
        type.
        """
        kind = arguments[0].type
        return self.call_by_name(f"{name}.{_type_name(kind)}", kind, *arguments)

    def variable(self, kind: Any, value: Any = None) -> Any:
        """A stack slot in the entry block."""
        with self.goto_entry_block():
            slot = self.alloca(kind)
        if value is not None:
            self.store(value, slot)
        return slot

    @contextmanager
    def each(self, count: Any, step: int = 1) -> Iterator[Any]:
        """A loop that runs `count` times; gives 0, `step`, 2 * `step`, and so on."""
        with cgutils.for_range(self, count) as loop:
            yield loop.index if step == 1 else self.mul(loop.index, long(step))

    @contextmanager
    def each_until(self, count: Any, step: int = 1) -> Iterator[tuple[Any, Callable[[], None]]]:
        """As `each`, with a function that ends the block and the loop."""
        with cgutils.for_range(self, count) as loop:
            yield self.mul(loop.index, long(step)), loop.do_break

    def load_from(self, address: Any, kind: Any, align: int) -> Any:
        """Load from an address."""
        result = self.load(self.inttoptr(address, POINTER), typ=kind)
        result.align = align
        return result

    def store_to(self, value: Any, address: Any, align: int) -> None:
        """Store to an address."""
        self.store(value, self.inttoptr(address, POINTER)).align = align

    def lanes_before(self, count: Any, lanes: int) -> Any:
        """The mask of the first `count` lanes; its lanes are as wide as the integer `count`."""
        numbers = ir.Constant(vector(count.type, lanes), [*range(lanes)])
        return self.icmp_signed("<", numbers, self.splat(count, lanes))

    def masked_load(self, address: Any, fill: Any, mask: Any, align: int) -> Any:
        """The lanes of a mask from an address; those of `fill` elsewhere, where nothing is read."""
        pointer = self.inttoptr(address, POINTER)
        name = f"llvm.masked.load.{_type_name(fill.type)}.p0"
        return self.call_by_name(name, fill.type, pointer, WORD(align), mask, fill)

    def masked_store(self, value: Any, address: Any, mask: Any, align: int) -> None:
        """The lanes of a mask to an address."""
        pointer = self.inttoptr(address, POINTER)
        name = f"llvm.masked.store.{_type_name(value.type)}.p0"
        self.call_by_name(name, VOID, value, pointer, WORD(align), mask)

    def prefetch(self, address: Any, writes: bool = False, locality: int = 3) -> None:
        """Prefetch a cache line, to be read or written; the address need not be valid.

        locality: 3 for the first-level cache, 2 for the second-level one.
        """
        pointer, hints = self.inttoptr(address, POINTER), (int(writes), locality, 1)
        self.call_by_name("llvm.prefetch.p0", VOID, pointer, *map(WORD, hints))

    def splat(self, value: Any, lanes: int) -> Any:
        """The value in every lane."""
        kind = vector(value.type, lanes)
        single = self.insert_element(ir.Constant(kind, ir.Undefined), value, WORD(0))
        return self.pick(single, [0] * lanes)

    def pick(self, value: Any, lanes: Sequence[int]) -> Any:
        """The named lanes of a vector as a vector."""
        return self.pick_of_two(value, ir.Constant(value.type, ir.Undefined), lanes)

    def pick_of_two(self, a: Any, b: Any, lanes: Sequence[int]) -> Any:
        """The same of two vectors; the numbers of b follow those of a."""
        order = ir.Constant(vector(WORD, len(lanes)), [*lanes])
        return self.shuffle_vector(a, b, order)

    def join(self, parts: Sequence[Any]) -> Any:
        """Vectors one after another."""
        result = parts[0]
        for part in parts[1:]:
            have, more = result.type.count, part.type.count
            if more < have:  # shuffles take operands of one type
                part = self.pick(part, [*range(more), *[0] * (have - more)])
            result = self.pick_of_two(result, part, range(have + more))
        return result

    def choose_lanes(self, count: Any, levels: Sequence[int], emit: Callable[[int], None]) -> None:
        """Code of emit(lanes) for the first level of lanes that `count` fills, or else the last."""
        lanes, *others = levels
        if not others:
            emit(lanes)
            return
        with self.if_else(self.icmp_signed(">=", count, long(lanes))) as (then, otherwise):
            with then:
                emit(lanes)
            with otherwise:
                self.choose_lanes(count, others, emit)

    def clamp(self, value: Any, low: Any, high: Any) -> Any:
        """min(max(value, low), high) on floats; NaN stays NaN."""
        value = self.select(self.fcmp_ordered("<", value, low), low, value)
        return self.select(self.fcmp_ordered(">", value, high), high, value)

    def clamp_integers(self, value: Any, low: Any, high: Any) -> Any:
        """min(max(value, low), high) on signed integers."""
        value = self.select(self.icmp_signed("<", value, low), low, value)
        return self.select(self.icmp_signed(">", value, high), high, value)
