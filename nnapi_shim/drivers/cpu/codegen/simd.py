"""Formulas in float32 written once, for a single number and for a vector of them alike.

Loops of single numbers are left to the compiler to vectorise; `over` writes loops of vectors of the
tier's width, the last of which is masked where the tier has masks: runs of any length cost what
their vectors cost. Elsewhere the numbers that fill no vector are taken one by one.
"""

import math
from collections.abc import Callable
from typing import Any, Union

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from nnapi_shim.drivers.cpu.codegen.elements import part
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.vector import (
    FLOAT,
    POINTER,
    WORD,
    declaration,
    load,
    long,
    splat,
    store,
    variable,
    vector,
)
from nnapi_shim.drivers.cpu.lowering.elements import MAP
from nnapi_shim.drivers.cpu.toolchain.kernel import kernel

Operand = Union["Real", float]


class Whole:
    """An int32, or a vector of them."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _by(self, name: str, other: "Whole | int") -> "Whole":
        value = other.value if isinstance(other, Whole) else _constant(self.value.type, other)
        return Whole(self.builder, getattr(self.builder, name)(self.value, value))

    def __add__(self, other: "Whole | int") -> "Whole":
        return self._by("add", other)

    def __sub__(self, other: "Whole | int") -> "Whole":
        return self._by("sub", other)

    def __and__(self, other: "Whole | int") -> "Whole":
        return self._by("and_", other)

    def __or__(self, other: "Whole | int") -> "Whole":
        return self._by("or_", other)

    def __xor__(self, other: "Whole | int") -> "Whole":
        return self._by("xor", other)

    def __lshift__(self, bits: int) -> "Whole":
        return self._by("shl", bits)

    def __rshift__(self, bits: int) -> "Whole":
        return self._by("ashr", bits)

    def largest(self, other: "Whole") -> "Whole":
        """The larger of both."""
        kind = self.value.type
        function = declaration(self.builder.module, f"llvm.smax.{_suffix(kind)}", kind, [kind] * 2)
        return Whole(self.builder, self.builder.call(function, [self.value, other.value]))

    def real(self) -> "Real":
        """The float32 of these bits."""
        return Real(self.builder, self.builder.bitcast(self.value, _like(self.value.type, FLOAT)))


class Real:
    """A float32, or a vector of them."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _of(self, other: Operand) -> Any:
        return other.value if isinstance(other, Real) else _constant(self.value.type, float(other))

    def __add__(self, other: Operand) -> "Real":
        return Real(self.builder, self.builder.fadd(self.value, self._of(other)))

    def __sub__(self, other: Operand) -> "Real":
        return Real(self.builder, self.builder.fsub(self.value, self._of(other)))

    def __mul__(self, other: Operand) -> "Real":
        return Real(self.builder, self.builder.fmul(self.value, self._of(other)))

    def __truediv__(self, other: Operand) -> "Real":
        return Real(self.builder, self.builder.fdiv(self.value, self._of(other)))

    def __neg__(self) -> "Real":
        return Real(self.builder, self.builder.fneg(self.value))

    def __abs__(self) -> "Real":
        return (self.bits() & 0x7FFFFFFF).real()

    def by(self, factor: Operand, plus: Operand) -> "Real":
        """Self * factor + plus, rounded once where the processor has an instruction for it."""
        kind = self.value.type
        name = f"llvm.fmuladd.{_suffix(kind)}"
        function = declaration(self.builder.module, name, kind, [kind] * 3)
        arguments = [self.value, self._of(factor), self._of(plus)]
        return Real(self.builder, self.builder.call(function, arguments))

    def where_below(self, bound: Operand, then: Operand, otherwise: Operand) -> "Real":
        """`then` where this is below the bound, else, and for NaN, `otherwise`."""
        is_below = self.builder.fcmp_ordered("<", self.value, self._of(bound))
        chosen = self.builder.select(is_below, self._of(then), self._of(otherwise))
        return Real(self.builder, chosen)

    def clamped(self, low: float, high: float) -> "Real":
        """min(max(self, low), high); NaN stays NaN."""
        raised = self.where_below(low, low, self)
        limit = raised.builder.fcmp_ordered(">", raised.value, raised._of(high))
        return Real(self.builder, self.builder.select(limit, raised._of(high), raised.value))

    @property
    def can_scale(self) -> bool:
        """Whether `scaled` is an instruction."""
        return ISA.can_scale(self.value.type)

    def scaled(self, exponent: "Real") -> "Real":
        """The product self * 2^exponent for any whole exponent, rounded once; see can_scale."""
        return Real(self.builder, ISA.scaled(self.builder, self.value, exponent.value))

    def like(self, number: float) -> "Real":
        """A constant, of as many lanes."""
        return Real(self.builder, _constant(self.value.type, number))

    def nearest(self) -> "Real":
        """The nearest integer, halves to even."""
        kind = self.value.type
        name = f"llvm.roundeven.{_suffix(kind)}"
        function = declaration(self.builder.module, name, kind, [kind])
        return Real(self.builder, self.builder.call(function, [self.value]))

    def bits(self) -> Whole:
        """Its bits."""
        return Whole(self.builder, self.builder.bitcast(self.value, _like(self.value.type, WORD)))


def _like(kind: Any, element: Any) -> Any:
    return vector(element, kind.count) if isinstance(kind, ir.VectorType) else element


def _constant(kind: Any, value: Any) -> Any:
    is_vector = isinstance(kind, ir.VectorType)
    return ir.Constant(kind, [value] * kind.count if is_vector else value)


def _suffix(kind: Any) -> str:
    element = kind.element if isinstance(kind, ir.VectorType) else kind
    name = "f32" if element is FLOAT or isinstance(element, ir.FloatType) else "i32"
    return f"v{kind.count}{name}" if isinstance(kind, ir.VectorType) else name


def single(formula: Callable[[Real], Real]) -> Any:
    """The formula as a function of kernels."""

    @intrinsic
    def function(typing_context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return formula(Real(builder, arguments[0])).value

        return types.float32(types.float32), generate

    return function


def single_of_two(formula: Callable[[Real, Real], Real]) -> Any:
    """The same of a formula of two numbers."""

    @intrinsic
    def function(typing_context: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return formula(*(Real(builder, argument) for argument in arguments)).value

        return types.float32(types.float32, types.float32), generate

    return function


class Here:
    """Where a loop is: `lanes` numbers from `index` on, those in the mask if there is one."""

    __slots__ = ("_mask", "builder", "index", "lanes")

    def __init__(self, builder: Any, index: Any, lanes: int, mask: Any = None) -> None:
        self.builder, self.index, self.lanes, self._mask = builder, index, lanes, mask

    def _place(self, address: Any) -> Any:
        return self.builder.add(address, self.builder.shl(self.index, long(2)))

    def load(self, address: Any, missing: float = 0.0) -> Real:
        """Numbers of float32[] at an address; `missing` where the mask has none."""
        kind = vector(FLOAT, self.lanes) if self.lanes > 1 else FLOAT
        place = self._place(address)
        if self._mask is None:
            return Real(self.builder, load(self.builder, place, kind, 1))
        function = declaration(
            self.builder.module,
            f"llvm.masked.load.v{self.lanes}f32.p0",
            kind,
            [POINTER, WORD, self._mask.type, kind],
        )
        pointer = self.builder.inttoptr(place, POINTER)
        arguments = [pointer, ir.Constant(WORD, 1), self._mask, _constant(kind, missing)]
        return Real(self.builder, self.builder.call(function, arguments))

    def store(self, address: Any, number: Real) -> None:
        """Numbers to float32[] at an address."""
        place = self._place(address)
        if self._mask is None:
            store(self.builder, number.value, place, 1)
            return
        kind = number.value.type
        function = declaration(
            self.builder.module,
            f"llvm.masked.store.v{self.lanes}f32.p0",
            ir.VoidType(),
            [kind, POINTER, WORD, self._mask.type],
        )
        pointer = self.builder.inttoptr(place, POINTER)
        self.builder.call(function, [number.value, pointer, ir.Constant(WORD, 1), self._mask])

    def spread(self, value: Any) -> Real:
        """A float32 in every lane."""
        if self.lanes > 1:
            value = splat(self.builder, value, self.lanes)
        return Real(self.builder, value)

    def only(self, number: Real, otherwise: float) -> Real:
        """The number where the mask has it."""
        if self._mask is None:
            return number
        other = _constant(number.value.type, otherwise)
        return Real(self.builder, self.builder.select(self._mask, number.value, other))


def over(
    builder: Any,
    count: Any,
    body: Callable[..., Any],
    total: tuple[Any, float | int, Callable[[Any, Any], Any]] | None = None,
    chains: int = 1,
) -> Any:
    """Code for a loop over `count` numbers: body(here), or body(here, total so far) -> total.

    total: element type, start and join(value, value) -> value of a result that is collected in
    lanes, in `chains` of them; it is answered.
    """
    lanes = TILING.lanes
    element, start, join = total or (FLOAT, 0.0, builder.fadd)
    kinds = [vector(element, lanes)] * chains + [element]
    slots = [variable(builder, kind, _constant(kind, start)) for kind in kinds] if total else []

    def step(index: Any, slot: int, width: int, mask: Any = None) -> None:
        here = Here(builder, index, width, mask)
        if total:
            builder.store(body(here, builder.load(slots[slot])), slots[slot])
        else:
            body(here)

    done = long(0)
    for at_once in dict.fromkeys((chains, 1)):
        width = long(at_once * lanes)
        blocks = builder.sdiv(builder.sub(count, done), width)
        with cgutils.for_range(builder, blocks) as block:
            first = builder.add(done, builder.mul(block.index, width))
            for chain in range(at_once):
                step(builder.add(first, long(chain * lanes)), chain, lanes)
        done = builder.add(done, builder.mul(blocks, width))
    if TILING.masked:
        rest = builder.trunc(builder.sub(count, done), WORD)
        with builder.if_then(builder.icmp_signed("<", done, count)):
            numbers = ir.Constant(vector(WORD, lanes), [*range(lanes)])
            mask = builder.icmp_signed("<", numbers, splat(builder, rest, lanes))
            step(done, 0, lanes, mask)
    else:
        with cgutils.for_range(builder, builder.sub(count, done)) as left:
            step(builder.add(done, left.index), -1, 1)
    if not total:
        return None
    *vectors, rest = (builder.load(slot) for slot in slots)
    whole = vectors[0]
    for other in vectors[1:]:
        whole = join(whole, other)
    while lanes > 1:
        lanes //= 2
        halves = (
            builder.shuffle_vector(
                whole,
                ir.Constant(whole.type, ir.Undefined),
                ir.Constant(vector(WORD, lanes), [*range(first, first + lanes)]),
            )
            for first in (0, lanes)
        )
        whole = join(*halves)
    whole = builder.extract_element(whole, ir.Constant(WORD, 0))
    return whole if TILING.masked else join(whole, rest)


def mapping(formula: Callable[[Real, Real], Real]) -> Any:
    """A function of kernels (x, y, count, parameter): float32[count] at y = formula(float32[count]
    at x, parameter).
    """

    @intrinsic
    def function(typing_context: Any, x: Any, y: Any, count: Any, parameter: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            x, y, count, parameter = arguments

            def body(here: Here) -> None:
                here.store(y, formula(here.load(x), here.spread(parameter)))

            over(builder, count, body)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64, types.float32), generate

    return function


@intrinsic
def largest_of(typing_context: Any, x: Any, count: Any, flip: Any, most: Any) -> Any:
    """The largest of float32[count] at x, with `flip` xor-ed to their bits, and `most`, which is
    not NaN; NaN is passed over.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, count, flip, most = arguments

        def join(a: Any, b: Any) -> Any:
            first, second = Real(builder, a), Real(builder, b)
            return first.where_below(second, second, first).value

        def body(here: Here, so_far: Any) -> Any:
            flips = splat(builder, flip, here.lanes) if here.lanes > 1 else flip
            bits = here.load(x, math.nan).bits() ^ Whole(builder, flips)
            return join(so_far, bits.real().value)

        found = over(builder, count, body, (FLOAT, -math.inf, join), chains=4)
        return join(most, found)

    return types.float32(types.int64, types.int64, types.int32, types.float32), generate


def mapped_runs(name, run):
    """The kernel `name` of a `mapping` that needs no parameter."""

    def body(a, tile):
        first, end = part(a.count, a.part, tile)
        run(a.input + 4 * first, a.output + 4 * first, end - first, np.float32(0))
        return 0

    body.__name__ = name
    return kernel(MAP)(body)
