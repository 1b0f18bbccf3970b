"""Formulas in float32 written once, for a single number and for a vector of them alike.

The compiler vectorises loops of single numbers; `vector_loop` writes loops of vectors of the tier's
width. Where the tier has masks the last vector is masked, so that the cost of a run is that of its
vectors; elsewhere a scalar loop takes the remainder.
"""

import math
from collections.abc import Callable
from functools import reduce
from typing import Any, Union

import numpy as np
from numba import types

from nnapi_shim.drivers.cpu.codegen.elements import part
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.vector import (
    DOUBLE,
    FLOAT,
    WORD,
    constant,
    long,
    vector,
    with_lanes_of,
)
from nnapi_shim.drivers.cpu.lowering.elements import MAP
from nnapi_shim.drivers.cpu.toolchain.kernel import kernel

Operand = Union["F32", float]


def _operator(instruction: str) -> Callable[[Any, Any], Any]:
    """A binary operator of numbers; the right operand may be a constant."""

    def apply(self: Any, other: Any) -> Any:
        right = other.value if isinstance(other, type(self)) else constant(self.value.type, other)
        return type(self)(self.builder, getattr(self.builder, instruction)(self.value, right))

    return apply


class I32:
    """An int32, or a vector of them."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    __add__, __sub__ = _operator("add"), _operator("sub")
    __and__, __or__, __xor__ = _operator("and_"), _operator("or_"), _operator("xor")
    __lshift__, __rshift__ = _operator("shl"), _operator("ashr")

    def largest(self, other: "I32") -> "I32":
        """The larger of both."""
        return I32(self.builder, self.builder.call_same("llvm.smax", self.value, other.value))

    def as_f32(self) -> "F32":
        """The float32 of these bits."""
        kind = with_lanes_of(self.value.type, FLOAT)
        return F32(self.builder, self.builder.bitcast(self.value, kind))


class F32:
    """A float32, or a vector of them."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    __add__, __sub__ = _operator("fadd"), _operator("fsub")
    __mul__, __truediv__ = _operator("fmul"), _operator("fdiv")

    def _of(self, other: Operand) -> Any:
        return other.value if isinstance(other, F32) else constant(self.value.type, float(other))

    def __neg__(self) -> "F32":
        return F32(self.builder, self.builder.fneg(self.value))

    def __abs__(self) -> "F32":
        return (self.bits() & 0x7FFFFFFF).as_f32()

    def multiply_add(self, factor: Operand, plus: Operand) -> "F32":
        """Self * factor + plus, rounded once where the processor has fused instructions."""
        arguments = [self.value, self._of(factor), self._of(plus)]
        return F32(self.builder, self.builder.call_same("llvm.fmuladd", *arguments))

    def select_below(self, bound: Operand, then: Operand, otherwise: Operand) -> "F32":
        """`then` where this is below the bound, else, and for NaN, `otherwise`."""
        is_below = self.builder.fcmp_ordered("<", self.value, self._of(bound))
        chosen = self.builder.select(is_below, self._of(then), self._of(otherwise))
        return F32(self.builder, chosen)

    def clamped(self, low: float, high: float) -> "F32":
        """min(max(self, low), high); NaN stays NaN."""
        raised = self.select_below(low, low, self)
        is_above = self.builder.fcmp_ordered(">", raised.value, raised._of(high))
        return F32(self.builder, self.builder.select(is_above, raised._of(high), raised.value))

    @property
    def can_scale(self) -> bool:
        """Whether `scaled` is an instruction."""
        return ISA.can_scale(self.value.type)

    def scaled(self, exponent: "F32") -> "F32":
        """The product self * 2^exponent for any whole exponent, rounded once; see can_scale."""
        return F32(self.builder, ISA.scaled(self.builder, self.value, exponent.value))

    def like(self, number: float) -> "F32":
        """A constant, of as many lanes."""
        return F32(self.builder, constant(self.value.type, number))

    def nearest(self) -> "F32":
        """The nearest integer, halves to even."""
        return F32(self.builder, self.builder.call_same("llvm.roundeven", self.value))

    def bits(self) -> I32:
        """The bits as I32."""
        kind = with_lanes_of(self.value.type, WORD)
        return I32(self.builder, self.builder.bitcast(self.value, kind))


def scalar_function(formula: Callable[..., F32], operands: int = 1) -> Any:
    """The formula as a function of so many float32 that kernels call."""

    @emits(types.float32(*[types.float32] * operands))
    def function(builder: Any, *numbers: Any) -> Any:
        return formula(*(F32(builder, number) for number in numbers)).value

    return function


class LoopPosition:
    """The position of a loop: `lanes` numbers from `index` on, under a mask if there is one."""

    __slots__ = ("_mask", "builder", "index", "lanes")

    def __init__(self, builder: Any, index: Any, lanes: int, mask: Any = None) -> None:
        self.builder, self.index, self.lanes, self._mask = builder, index, lanes, mask

    def _address(self, address: Any) -> Any:
        return self.builder.add(address, self.builder.shl(self.index, long(2)))

    def load(self, address: Any, fill: float = 0.0) -> F32:
        """Numbers of float32[] at an address; `fill` in lanes outside of the mask."""
        kind = vector(FLOAT, self.lanes) if self.lanes > 1 else FLOAT
        address_here = self._address(address)
        if self._mask is None:
            return F32(self.builder, self.builder.load_from(address_here, kind, 1))
        others = constant(kind, fill)
        return F32(self.builder, self.builder.masked_load(address_here, others, self._mask, 1))

    def store(self, address: Any, number: F32) -> None:
        """Numbers to float32[] at an address."""
        address_here = self._address(address)
        if self._mask is None:
            self.builder.store_to(number.value, address_here, 1)
        else:
            self.builder.masked_store(number.value, address_here, self._mask, 1)

    def broadcast(self, value: Any) -> F32:
        """A float32 in every lane."""
        if self.lanes > 1:
            value = self.builder.splat(value, self.lanes)
        return F32(self.builder, value)

    def select(self, number: F32, otherwise: float) -> F32:
        """The number where the mask has it."""
        if self._mask is None:
            return number
        other = constant(number.value.type, otherwise)
        return F32(self.builder, self.builder.select(self._mask, number.value, other))


def vector_loop(
    builder: Any,
    count: Any,
    body: Callable[..., Any],
    total: tuple[Any, float | int, Callable[[Any, Any], Any]] | None = None,
    chains: int = 1,
) -> Any:
    """Code for a loop over `count` numbers: body(position), or body(position, total) -> total.

    total: element type, start and join(value, value) -> value of a reduction, which is accumulated
    in `chains` vectors and returned.
    """
    lanes = TILING.lanes
    element, start, join = total or (FLOAT, 0.0, builder.fadd)
    kinds = [vector(element, lanes)] * chains + [element]
    slots = [builder.variable(kind, constant(kind, start)) for kind in kinds] if total else []

    def step(index: Any, slot: int, width: int, mask: Any = None) -> None:
        position = LoopPosition(builder, index, width, mask)
        if total:
            builder.store(body(position, builder.load(slots[slot])), slots[slot])
        else:
            body(position)

    done = long(0)
    for at_once in dict.fromkeys((chains, 1)):
        width = long(at_once * lanes)
        blocks = builder.sdiv(builder.sub(count, done), width)
        with builder.each(blocks) as block:
            first = builder.add(done, builder.mul(block, width))
            for chain in range(at_once):
                step(builder.add(first, long(chain * lanes)), chain, lanes)
        done = builder.add(done, builder.mul(blocks, width))
    if TILING.masked:
        rest = builder.trunc(builder.sub(count, done), WORD)
        with builder.if_then(builder.icmp_signed("<", done, count)):
            step(done, 0, lanes, builder.lanes_before(rest, lanes))
    else:
        with builder.each(builder.sub(count, done)) as left:
            step(builder.add(done, left), -1, 1)
    if not total:
        return None
    *vectors, rest = (builder.load(slot) for slot in slots)
    whole = across_lanes(builder, reduce(join, vectors), join)
    return whole if TILING.masked else join(whole, rest)


def across_lanes(builder: Any, value: Any, join: Callable[[Any, Any], Any]) -> Any:
    """All lanes of a vector joined by join(value, value) -> value, in halves."""
    lanes = value.type.count
    while lanes > 1:
        lanes //= 2
        value = join(*(builder.pick(value, range(at, at + lanes)) for at in (0, lanes)))
    return builder.extract_element(value, WORD(0))


def mapping(formula: Callable[[F32, F32], F32]) -> Any:
    """A function of kernels (x, y, count, parameter): float32[count] at y = formula(float32[count]
    at x, parameter).
    """

    @emits(types.void(types.int64, types.int64, types.int64, types.float32))
    def function(builder: Any, x: Any, y: Any, count: Any, parameter: Any) -> None:
        def body(position: LoopPosition) -> None:
            position.store(y, formula(position.load(x), position.broadcast(parameter)))

        vector_loop(builder, count, body)

    return function


@emits(types.float32(types.int64, types.int64, types.int32, types.float32))
def largest_of(builder: Any, x: Any, count: Any, flip: Any, most: Any) -> Any:
    """The largest of float32[count] at x, with `flip` xor-ed to their bits, and `most`, which is
    not NaN; NaN is passed over.
    """

    def join(a: Any, b: Any) -> Any:
        first, second = F32(builder, a), F32(builder, b)
        return first.select_below(second, second, first).value

    def body(position: LoopPosition, so_far: Any) -> Any:
        flips = builder.splat(flip, position.lanes) if position.lanes > 1 else flip
        bits = position.load(x, math.nan).bits() ^ I32(builder, flips)
        return join(so_far, bits.as_f32().value)

    largest = vector_loop(builder, count, body, (FLOAT, -math.inf, join), chains=4)
    return join(most, largest)


@emits(types.float64(types.int64, types.int64))
def sum_of(builder: Any, x: Any, count: Any) -> Any:
    """The sum of float32[count] at x, in float64."""

    def body(position: LoopPosition, total: Any) -> Any:
        return builder.fadd(total, builder.fpext(position.load(x).value, total.type))

    return vector_loop(builder, count, body, (DOUBLE, 0.0, builder.fadd), chains=2)


def elementwise_kernel(name, run):
    """The kernel `name` of a `mapping` that needs no parameter."""

    @kernel(MAP, name)
    def body(a, tile):
        first, end = part(a.count, a.part, tile)
        run(a.input + 4 * first, a.output + 4 * first, end - first, np.float32(0))
        return 0
