"""Micro-kernels of the depthwise convolution: some pixels of an output row, a slab of channels.

    output[p, c] = finish(bias[c] + sum over i, j of input[i, p * stride + j, c] * filter[i, j, c])

written as LLVM code for vectors of channels. Only filter rows and columns that lie inside the image
are passed, so there is no padding here; micro-kernels of a fixed filter width get the range of
image columns that exist for their pixels. Sums run over i, then j, whatever the number of
pixels; in quantized kernels they are int32 and exact. The last vector ends at the last channel: it
overlaps the one before it where the channels are no multiple of a vector, and stores the same
values again.
"""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from nnapi_shim.drivers.cpu.codegen.bounds import within
from nnapi_shim.drivers.cpu.codegen.depthwise_arguments import ARGUMENTS, KINDS, NUMBA_KINDS
from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.requantization import (
    ByteOutput,
    ColumnConstants,
    high_products,
    requantize,
    to_bytes,
)
from nnapi_shim.drivers.cpu.codegen.vector import (
    BYTE,
    FLOAT,
    HALFWORD,
    WORD,
    Builder,
    constant,
    long,
    vector,
)
from nnapi_shim.drivers.cpu.isa.tier import Tiling


class _Depthwise:
    """One micro-kernel being written, a Variant.

    A round of the loop takes `vectors` vectors of channels. Weights and biases are 4 bytes each.
    """

    element_bytes: int
    vectors: int
    sum_element: Any
    weight_element: Any

    def __init__(self, fn: Any, tiling: Tiling, variant: Any) -> None:
        self.tiling, self.variant, self.pixels = tiling, variant, variant.pixels
        self.lanes = tiling.lanes
        self.builder = Builder(fn.append_basic_block("entry"))
        self.args = dict(zip(ARGUMENTS, fn.args, strict=True))
        self.mask: Any = None

    def write(self) -> None:
        """The whole function."""
        builder, args = self.builder, self.args
        size = self.element_bytes
        group = self.vectors * self.lanes
        last = builder.sub(args["slab"], long(group))
        if self.mask is not None:
            last = long(0)
        rounds = builder.udiv(builder.add(args["slab"], long(group - 1)), long(group))
        with builder.each(rounds, group) as channel:
            channel = builder.select(builder.icmp_signed("<", channel, last), channel, last)
            bias = self.parts(self.address_of("bias", channel, 4), self.sum_element)
            self.sums = [[builder.variable(x.type, x) for x in bias] for _ in range(self.pixels)]
            self.rows(
                self.address_of("input", channel, size), self.address_of("filter", channel, 4)
            )
            output = self.address_of("output", channel, size)
            for p, value in enumerate(self.finished(channel)):
                address_of = builder.add(output, builder.mul(args["output_step"], long(p)))
                with self.if_present(p > 0, builder.icmp_signed(">", args["pixels"], long(p))):
                    self.store(value, address_of)
        builder.ret_void()

    def address_of(self, name: str, channel: Any, size: int) -> Any:
        """Address of a channel where an argument points, `size` bytes per channel."""
        return self.builder.add(self.args[name], self.builder.mul(channel, long(size)))

    def parts(self, address: Any, element: Any) -> list[Any]:
        """The vectors of 32-bit elements, or of pairs of 16-bit ones, at an address."""
        kind = vector(element, self.lanes * 32 // (16 if element is HALFWORD else 32))
        if self.mask is not None:
            return [self.builder.masked_load(address, constant(kind, 0.0), self.mask, 4)]
        return [
            self.builder.load_from(self.builder.add(address, long(4 * self.lanes * v)), kind, 4)
            for v in range(self.vectors)
        ]

    def store(self, value: Any, address: Any) -> None:
        """Store the channels of a pixel."""
        if self.mask is not None:
            self.builder.masked_store(value, address, self.mask, 4)
        else:
            self.builder.store_to(value, address, self.element_bytes)

    def if_present(self, may_be_absent: bool, is_present: Any) -> Any:
        """Code for a pixel or a column; at borders it runs only if that is present."""
        if self.variant.at_border and may_be_absent:
            return self.builder.if_then(is_present)
        return nullcontext()

    def rows(self, row: Any, weights: Any) -> None:
        """Loops over the filter rows; calls `columns`."""
        raise NotImplementedError

    def product(self, x: Any, w: Any, total: Any) -> Any:
        """The sum plus x * w."""
        raise NotImplementedError

    def finished(self, channel: Any) -> list[Any]:
        """The outputs of each pixel, from its sums."""
        raise NotImplementedError

    def columns(self, row: Any, weights: Any, read: Callable[[Any], list[Any]]) -> None:
        """Add one filter row, or a pair of them; `read` gives the input at an address.

        With fixed taps and stride an input column is read once for all pixels that need it.
        """
        builder, args = self.builder, self.args
        weight_step = builder.mul(args["channels"], long(4))

        def add(p: int, xs: list[Any], ws: list[Any]) -> None:
            for slot, x, w in zip(self.sums[p], xs, ws, strict=True):
                builder.store(self.product(x, w, builder.load(slot)), slot)

        def tap_weights(j: Any) -> list[Any]:
            address_of = builder.add(weights, builder.mul(weight_step, j))
            return self.parts(address_of, self.weight_element)

        taps, stride = self.variant.taps, self.variant.stride
        if taps:
            steps = [tap_weights(long(j)) for j in range(taps)]
            for column in range((self.pixels - 1) * stride + taps):
                number = builder.sub(long(column), args["first_column"])
                with self.if_present(True, builder.icmp_unsigned("<", number, args["columns"])):
                    xs = read(builder.add(row, builder.mul(args["tap_step"], long(column))))
                    for p in range(self.pixels):
                        j = column - p * stride
                        if 0 <= j < taps:
                            add(p, xs, steps[j])
            return
        with builder.each(args["width"]) as j:
            ws = tap_weights(j)
            tap = builder.add(row, builder.mul(args["tap_step"], j))
            for p in range(self.pixels):
                pixel = builder.mul(args["pixel_step"], long(p))
                add(p, read(builder.add(tap, pixel)), ws)


class _Float(_Depthwise):
    """float32."""

    element_bytes = 4
    sum_element = weight_element = FLOAT

    def __init__(self, fn: Any, tiling: Tiling, variant: Any) -> None:
        super().__init__(fn, tiling, variant)
        self.vectors = 1 if variant.few or variant.taps else tiling.channel_vectors
        if variant.few and tiling.masked:
            self.mask = self.builder.lanes_before(self.args["slab"], self.lanes)

    def rows(self, row: Any, weights: Any) -> None:
        builder, args = self.builder, self.args
        with builder.each(args["height"]) as i:
            self.columns(
                builder.add(row, builder.mul(args["row_step"], i)),
                builder.add(weights, builder.mul(args["filter_row"], i)),
                lambda address: self.parts(address, FLOAT),
            )

    def product(self, x: Any, w: Any, total: Any) -> Any:
        return ISA.multiply_add(self.builder, x, w, total)

    def finished(self, channel: Any) -> list[Any]:
        builder, args = self.builder, self.args
        sums = [builder.load(slot) for slots in self.sums for slot in slots]
        finished = iter(within(builder, sums, args["low"], args["high"]))
        return [builder.join([next(finished) for _ in slots]) for slots in self.sums]


class _Quantized(_Depthwise):
    """8 bits. A multiplication takes two filter rows: pairs of int16, zero points subtracted."""

    element_bytes = 1
    vectors = 2
    sum_element = WORD
    weight_element = HALFWORD

    def __init__(self, signed: bool, fn: Any, tiling: Tiling, variant: Any) -> None:
        super().__init__(fn, tiling, variant)
        builder, args = self.builder, self.args
        self.widen = builder.sext if signed else builder.zext
        zero = builder.trunc(args["input_zero"], WORD)
        self.zero = builder.splat(zero, self.lanes)
        self.zero_pairs = builder.splat(builder.trunc(zero, HALFWORD), 2 * self.lanes)

    def rows(self, row: Any, weights: Any) -> None:
        builder, args = self.builder, self.args
        pairs = builder.lshr(args["height"], long(1))
        row_step = builder.mul(args["row_step"], long(2))
        filter_row = builder.mul(args["filter_row"], long(2))
        with builder.each(pairs) as i:
            self.columns(
                builder.add(row, builder.mul(row_step, i)),
                builder.add(weights, builder.mul(filter_row, i)),
                self.two_rows,
            )
        with builder.each(builder.and_(args["height"], long(1))):
            last = builder.add(weights, builder.mul(filter_row, pairs))
            self.columns(
                builder.add(row, builder.mul(row_step, pairs)),
                builder.add(last, args["singles"]),
                self.one_row,
            )

    def two_rows(self, address: Any) -> list[Any]:
        """Per channel the element at the address and the one a row below."""
        builder, lanes = self.builder, self.lanes
        kind = vector(BYTE, 2 * lanes)
        upper = builder.load_from(address, kind, 1)
        lower = builder.load_from(builder.add(address, self.args["row_step"]), kind, 1)
        result = []
        for first in (0, lanes):
            order = [at for c in range(first, first + lanes) for at in (c, c + 2 * lanes)]
            mixed = builder.pick_of_two(upper, lower, order)
            wide = self.widen(mixed, vector(HALFWORD, 2 * lanes))
            result.append(builder.sub(wide, self.zero_pairs))
        return result

    def one_row(self, address: Any) -> list[Any]:
        """Per channel the element as an int32: its upper half, the sign, has a weight of 0."""
        builder, lanes = self.builder, self.lanes
        both = builder.load_from(address, vector(BYTE, 2 * lanes), 1)
        result = []
        for first in (0, lanes):
            part = builder.pick(both, range(first, first + lanes))
            wide = builder.sub(self.widen(part, vector(WORD, lanes)), self.zero)
            result.append(builder.bitcast(wide, vector(HALFWORD, 2 * lanes)))
        return result

    def product(self, x: Any, w: Any, total: Any) -> Any:
        return ISA.dot_pairs(self.builder, total, x, w)

    def finished(self, channel: Any) -> list[Any]:
        builder, args = self.builder, self.args
        columns = ColumnConstants(
            builder, args["table"], args["channels"], channel, self.vectors, self.lanes
        )
        last = ByteOutput(args["zero_point"], args["low"], args["high"], args["output_flip"])
        group = self.vectors * self.lanes
        result = []
        for p in range(0, self.pixels, 2):  # two fill vectors of bytes
            sums = [[builder.load(slot) for slot in slots] for slots in self.sums[p : p + 2]]
            steps = requantize(builder, high_products(builder, sums, columns), columns, last)
            values = to_bytes(builder, steps, last)
            for first in range(0, values.type.count, group):
                result.append(builder.pick(values, range(first, first + group)))
        return result


WRITERS: dict[str, Any] = {
    "f32": _Float,
    "qu8": partial(_Quantized, False),
    "qs8": partial(_Quantized, True),
}


class Variant(NamedTuple):
    """Pixels of a micro-kernel; filter width and stride where they are fixed, else 0.

    few: there may be fewer channels than several vectors have lanes. at_border: some pixels may not
    be wanted, and some columns not be there.
    """

    pixels: int
    taps: int = 0
    stride: int = 0
    few: bool = False
    at_border: bool = False


PIXELS = 4
FIXED = 7
"""Pixels at once, and where the width of the filter is fixed: then of one vector of channels."""
_ANY = (Variant(1), Variant(PIXELS))
_FIXED = tuple(Variant(FIXED, taps, stride) for taps in (3, 5) for stride in (1, 2))
_LARGE = (*_ANY, *_FIXED, *(variant._replace(at_border=True) for variant in _FIXED))
ONE, SOME, WIDE = range(len(_ANY) + 1)
AT_BORDER, FEW = len(_FIXED), len(_LARGE)
"""What is added to the number of a fixed one at borders, and to any where channels are few."""
VARIANTS = {
    "f32": (*_LARGE, *(variant._replace(few=True) for variant in _LARGE)),
    "qu8": _ANY[:1],
    "qs8": _ANY[:1],
}


def pixels(tiling: Tiling, kind: str) -> Any:
    """A numba function run(variant, Source, Weights, Target, Finish) that calls a micro-kernel."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder = Builder.of(builder)
        chosen, *records = arguments
        fields = [
            (value, kind)
            for record, layout in zip(records, signature.args[1:], strict=True)
            for value, kind in zip(cgutils.unpack_tuple(builder, record), layout, strict=True)
        ]
        rest = [
            context.cast(builder, value, kind, wanted)
            for (value, kind), wanted in zip(fields, NUMBA_KINDS, strict=True)
        ]
        for number, variant in enumerate(VARIANTS[kind]):
            if variant.taps and not tiling.masked:
                variant = variant._replace(few=False)  # is the same
            with builder.if_then(builder.icmp_signed("==", chosen, long(number))):
                name = (
                    f"nnk_depthwise_{kind}_{tiling.lanes}_{'_'.join(map(str, map(int, variant)))}"
                )
                fn, is_new = builder.outlined(name, KINDS)
                if is_new:
                    WRITERS[kind](fn, tiling, variant).write()
                builder.call(fn, rest)
        return context.get_dummy_value()

    @intrinsic
    def run(typing_context, variant, source, weights, target, finish):
        return types.void(types.int64, source, weights, target, finish), generate

    return run
