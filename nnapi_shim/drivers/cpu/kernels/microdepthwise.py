"""Micro-kernels of the depthwise convolution: some pixels of an output row, all channels.

    output[p, c] = finish(bias[c] + sum over i, j of input[i, p * stride + j, c] * filter[i, j, c])

written as LLVM code for vectors of channels. Only filter rows and columns that lie inside the image
are passed, so there is no padding here. Sums run over i, then j, whatever the number of pixels; in
quantized kernels they are int32 and exact. The last vector ends at the last channel: it overlaps
the one before it where the channels are no multiple of a vector, and stores the same values again.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as numba_intrinsic

from nnapi_shim.drivers.cpu.kernels.vector import (
    BYTE,
    FLOAT,
    HALFWORD,
    LONG,
    WORD,
    clamp,
    dot_pairs,
    function,
    join,
    load,
    long,
    multiply_add,
    pick,
    requantize,
    splat,
    store,
    variable,
    vector,
)
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling

ARGUMENTS = (
    "input row_step tap_step pixel_step height width filter filter_row singles bias scales channels "
    "output input_zero zero_point"
).split()
"""Arguments of a micro-kernel, 64 bits each; the float arguments `low` and `high` follow.

Steps in bytes: row_step and tap_step between input elements of neighbouring filter rows and
columns, pixel_step between those of neighbouring outputs, filter_row between filter rows.
height, width: filter rows and columns to take. singles: see quantized filters in packing.py.
"""


import os
VECTORS=int(os.environ.get('VEC','2'))
class _Depthwise:
    """One micro-kernel being written: `pixels` outputs; taps and stride where they are fixed."""

    element_bytes = 4
    filter_bytes = 4

    def __init__(self, fn: Any, tiling: Tiling, pixels: int, taps: int, stride: int) -> None:
        self.tiling, self.pixels, self.taps, self.stride = tiling, pixels, taps, stride
        self.lanes = tiling.lanes
        self.builder = ir.IRBuilder(fn.append_basic_block("entry"))
        self.given = dict(zip(ARGUMENTS, fn.args[: len(ARGUMENTS)], strict=True))
        low, high = fn.args[len(ARGUMENTS) :]
        self.low = splat(self.builder, low, self.lanes)
        self.high = splat(self.builder, high, self.lanes)

    @property
    def group(self) -> int:
        """Channels of one round."""
        return self.lanes

    def write(self) -> None:
        """The whole function: a loop over groups of channels."""
        builder, given = self.builder, self.given
        last = builder.sub(given["channels"], long(self.group))
        count = builder.udiv(builder.add(given["channels"], long(self.group - 1)), long(self.group))
        self.prepare()
        with cgutils.for_range(builder, count) as loop:
            channel = builder.mul(loop.index, long(self.group))
            channel = builder.select(builder.icmp_signed("<", channel, last), channel, last)
            self.start(channel)
            self.rows(channel)
            for p, value in enumerate(self.finish(channel)):
                size = self.element_bytes
                at = builder.mul(builder.add(builder.mul(given["channels"], long(p)), channel), long(size))
                store(builder, value, builder.add(given["output"], at), size)
        builder.ret_void()

    def prepare(self) -> None:
        """What is loaded once."""

    def offset(self, base: Any, channel: Any, size: int) -> Any:
        """Address of a channel in a row of `size` bytes per channel."""
        return self.builder.add(base, self.builder.mul(channel, long(size)))

    def columns(self, row: Any, weights: Any, read: Callable[..., Any], add: Callable[..., Any]) -> None:
        """One filter row (or a pair): `read(address)` what is shared, `add(pixel, x, w)` it.

        With fixed taps and stride an input column is read once for all the pixels it belongs to.
        """
        builder, given = self.builder, self.given
        step = builder.mul(given["channels"], long(self.filter_bytes))
        if self.taps:
            found = [
                self.weights(builder.add(weights, builder.mul(step, long(j)))) for j in range(self.taps)
            ]
            for column in range((self.pixels - 1) * self.stride + self.taps):
                x = read(builder.add(row, builder.mul(given["tap_step"], long(column))))
                for p in range(self.pixels):
                    j = column - p * self.stride
                    if 0 <= j < self.taps:
                        add(p, x, found[j])
            return
        with cgutils.for_range(builder, given["width"]) as loop:
            w = self.weights(builder.add(weights, builder.mul(step, loop.index)))
            tap = builder.add(row, builder.mul(given["tap_step"], loop.index))
            for p in range(self.pixels):
                add(p, read(builder.add(tap, builder.mul(given["pixel_step"], long(p)))), w)


class _Float(_Depthwise):
    """float32: VECTORS vectors of channels per pixel."""

    @property
    def group(self) -> int:
        return VECTORS * self.lanes

    def parts(self, address: Any) -> list[Any]:
        """The vectors at an address."""
        return [
            load(self.builder, self.builder.add(address, long(4 * self.lanes * v)), vector(FLOAT, self.lanes), 4)
            for v in range(VECTORS)
        ]

    def start(self, channel: Any) -> None:
        bias = self.parts(self.offset(self.given["bias"], channel, 4))
        self.sums = [[variable(self.builder, x.type, x) for x in bias] for _ in range(self.pixels)]

    def weights(self, address: Any) -> Any:
        return self.parts(address)

    def rows(self, channel: Any) -> None:
        builder, given = self.builder, self.given
        row = self.offset(given["input"], channel, 4)
        weights = self.offset(given["filter"], channel, 4)

        def add(p: int, xs: Any, ws: Any) -> None:
            for slot, x, w in zip(self.sums[p], xs, ws, strict=True):
                total = multiply_add(builder, x, w, builder.load(slot), self.tiling.fused)
                builder.store(total, slot)

        with cgutils.for_range(builder, given["height"]) as loop:
            self.columns(
                builder.add(row, builder.mul(given["row_step"], loop.index)),
                builder.add(weights, builder.mul(given["filter_row"], loop.index)),
                self.parts,
                add,
            )

    def finish(self, channel: Any) -> list[Any]:
        builder = self.builder
        order = ir.Constant(vector(WORD, self.group), list(range(self.group)))
        res=[]
        for slots in self.sums:
            parts=[clamp(builder, builder.load(slot), self.low, self.high) for slot in slots]
            res.append(join(builder, parts))
        return res


class _Quantized(_Depthwise):
    """8 bits: two vectors of int32 sums per pixel; two filter rows per multiplication."""

    element_bytes = 1

    def __init__(self, signed: bool, *rest: Any) -> None:
        super().__init__(*rest)
        self.widen = self.builder.sext if signed else self.builder.zext

    @property
    def group(self) -> int:
        return 2 * self.lanes

    def prepare(self) -> None:
        builder, given = self.builder, self.given
        half = builder.trunc(given["input_zero"], HALFWORD)
        self.zero_pairs = splat(builder, half, 2 * self.lanes)
        self.zero = splat(builder, builder.trunc(given["input_zero"], WORD), self.lanes)
        self.zero_point = splat(builder, builder.trunc(given["zero_point"], WORD), self.lanes)

    def halves(self, base: Any, channel: Any, element: Any) -> list[Any]:
        """Two vectors of 32-bit elements, one per channel."""
        address = self.offset(base, channel, 4)
        return [
            load(self.builder, self.builder.add(address, long(4 * self.lanes * h)), vector(element, self.lanes), 4)
            for h in range(2)
        ]

    def start(self, channel: Any) -> None:
        bias = self.halves(self.given["bias"], channel, WORD)
        self.sums = [
            [variable(self.builder, value.type, value) for value in bias] for _ in range(self.pixels)
        ]

    def weights(self, address: Any) -> list[Any]:
        kind = vector(HALFWORD, 2 * self.lanes)
        return [
            load(self.builder, self.builder.add(address, long(4 * self.lanes * h)), kind, 4)
            for h in range(2)
        ]

    def rows(self, channel: Any) -> None:
        builder, given = self.builder, self.given
        row = self.offset(given["input"], channel, 1)
        weights = self.offset(given["filter"], channel, 4)
        bytes_ = vector(BYTE, self.group)

        def add(p: int, x: Any, w: Any) -> None:
            for slot, a, b in zip(self.sums[p], x, w, strict=True):
                total = builder.add(builder.load(slot), dot_pairs(builder, a, b, self.tiling.dot2))
                builder.store(total, slot)

        def pair(address: Any) -> list[Any]:
            upper = load(builder, address, bytes_, 1)
            lower = load(builder, builder.add(address, given["row_step"]), bytes_, 1)
            result = []
            for h in range(2):
                channels = range(h * self.lanes, (h + 1) * self.lanes)
                order = [at for c in channels for at in (c, c + self.group)]
                mixed = builder.shuffle_vector(
                    upper, lower, ir.Constant(vector(WORD, self.group), order)
                )
                wide = self.widen(mixed, vector(HALFWORD, self.group))
                result.append(builder.sub(wide, self.zero_pairs))
            return result

        def single(address: Any) -> list[Any]:
            both = load(builder, address, bytes_, 1)
            result = []
            for h in range(2):
                part = pick(builder, both, range(h * self.lanes, (h + 1) * self.lanes))
                wide = builder.sub(self.widen(part, vector(WORD, self.lanes)), self.zero)
                # The upper half of a word is its sign; its weight is 0.
                result.append(builder.bitcast(wide, vector(HALFWORD, self.group)))
            return result

        pairs = builder.lshr(given["height"], long(1))
        with cgutils.for_range(builder, pairs) as loop:
            at = builder.mul(loop.index, long(2))
            self.columns(
                builder.add(row, builder.mul(given["row_step"], at)),
                builder.add(weights, builder.mul(given["filter_row"], at)),
                pair,
                add,
            )
        odd = builder.and_(given["height"], long(1))
        with cgutils.for_range(builder, odd):
            at = builder.mul(pairs, long(2))
            last = builder.add(weights, builder.mul(given["filter_row"], at))
            self.columns(
                builder.add(row, builder.mul(given["row_step"], at)),
                builder.add(last, given["singles"]),
                single,
                add,
            )

    def finish(self, channel: Any) -> list[Any]:
        builder = self.builder
        scales = self.halves(self.given["scales"], channel, FLOAT)
        result = []
        for slots in self.sums:
            parts = [
                requantize(builder, builder.load(slot), scale, self.low, self.high, self.zero_point)
                for slot, scale in zip(slots, scales, strict=True)
            ]
            order = ir.Constant(vector(WORD, self.group), list(range(self.group)))
            result.append(builder.shuffle_vector(*parts, order))
        return result


WRITERS = {
    "f32": _Float,
    "qu8": lambda *rest: _Quantized(False, *rest),
    "qs8": lambda *rest: _Quantized(True, *rest),
}


def pixels(tiling: Tiling, kind: str, count: int, taps: int = 0, stride: int = 0) -> Any:
    """A numba function that runs a micro-kernel: pixels(*ARGUMENTS, low, high)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        name = f"nnk_depthwise_{kind}_{count}x{tiling.lanes}_{taps}_{stride}"
        fn, is_new = function(builder.module, name, [LONG] * len(ARGUMENTS) + [FLOAT] * 2)
        if is_new:
            WRITERS[kind](fn, tiling, count, taps, stride).write()
        builder.call(fn, arguments)
        return context.get_dummy_value()

    @numba_intrinsic
    def run(
        typing_context, input, row_step, tap_step, pixel_step, height, width, filter, filter_row,
        singles, bias, scales, channels, output, input_zero, zero_point, low, high,
    ):  # fmt: skip
        words = [types.int64] * len(ARGUMENTS)
        return types.void(*words, types.float32, types.float32), generate

    return run
