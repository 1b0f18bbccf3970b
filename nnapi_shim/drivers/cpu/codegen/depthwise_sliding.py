"""A micro-kernel of the float32 depthwise convolution of 3x3, stride 1: some pixels of all rows.

It goes down the image, an input row at a time, and keeps the sums of the three output rows that
read it in registers, with all weights. Each input vector is read once, each weight once for all
rows. Sums run over the filter's rows, then its columns, as in depthwise_microkernel.py; the last
vector of channels overlaps the one before it in the same way.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from numba import types

from nnapi_shim.drivers.cpu.codegen.bounds import within
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.vector import FLOAT, LONG, Builder, long, vector

TAPS = 3
"""Rows and columns of the filter."""
STRIP = 7
"""Pixels at once."""
LANES = TILING.lanes
AHEAD = 4
"""Vectors of channels from those that are computed to those whose weights are prefetched."""

ARGUMENTS = (
    "input row_step filter bias channels slab output output_row rows first_row image_rows "
    "pixels first_column columns"
).split()
"""Arguments of the micro-kernel, 64 bits each; the float arguments `low` and `high` follow.

input: the address of the first pixel that the filter's corner reads for the first output pixel, it
may be outside of the image. channels: of a pixel. slab: those to compute, from the addresses on.
row_step, output_row: bytes between rows. rows, pixels: of the output.
Input rows and columns are numbered from there; [first_row, first_row + image_rows) and
[first_column, first_column + columns) exist.
"""


def emit(builder: Builder, at_border: bool, arguments: Sequence[Any]) -> None:
    """The function; at_border: there may be fewer pixels, and columns that do not exist."""
    args = dict(zip([*ARGUMENTS, "low", "high"], arguments, strict=True))
    last = builder.sub(args["slab"], long(LANES))
    rounds = builder.udiv(builder.add(args["slab"], long(LANES - 1)), long(LANES))
    with builder.each(rounds, LANES) as channel:
        channel = builder.select(builder.icmp_signed("<", channel, last), channel, last)
        offset = builder.mul(channel, long(4))
        own = {
            name: builder.add(args[name], offset) for name in ("input", "filter", "bias", "output")
        }
        _Vector(builder, at_border, {**args, **own}).write()


class _Vector:
    """The code of a vector of channels. sums: slots of the output rows that the current input row
    is the last, the second and the first one of.
    """

    def __init__(self, builder: Builder, at_border: bool, args: dict[str, Any]) -> None:
        self.builder, self.at_border, self.args = builder, at_border, args
        self.kind = vector(FLOAT, LANES)
        self.pixel_bytes = builder.mul(args["channels"], long(4))
        self.weights = [
            [self._load(args["filter"], TAPS * i + j) for j in range(TAPS)] for i in range(TAPS)
        ]
        self.bias = self._load(args["bias"], 0)
        self._prefetch_weights()
        self.sums = [
            [builder.variable(self.kind, self.bias) for _ in range(STRIP)] for _ in range(TAPS)
        ]

    def _prefetch_weights(self) -> None:
        """Prefetch those of a later vector: a run of a model reads them once, from far away."""
        builder, args = self.builder, self.args
        for tap in range(TAPS * TAPS):
            weights = builder.add(args["filter"], builder.mul(self.pixel_bytes, long(tap)))
            builder.prefetch(builder.add(weights, long(4 * LANES * AHEAD)))
        builder.prefetch(builder.add(args["bias"], long(4 * LANES * AHEAD)))

    def _load(self, address: Any, pixel: int) -> Any:
        """The channels so many pixels behind an address."""
        builder = self.builder
        behind = builder.mul(self.pixel_bytes, long(pixel))
        return builder.load_from(builder.add(address, behind), self.kind, 4)

    def write(self) -> None:
        """All rows."""
        builder, args = self.builder, self.args
        rows = args["rows"]
        with builder.each(builder.add(rows, long(TAPS - 1))) as number:
            row = builder.add(args["input"], builder.mul(number, args["row_step"]))
            in_image = builder.sub(number, args["first_row"])
            exists = builder.icmp_unsigned("<", in_image, args["image_rows"])
            # Whether the output row is wanted that this is filter row i of.
            wanted = [
                builder.icmp_unsigned("<", builder.sub(number, long(i)), rows) for i in range(TAPS)
            ]
            all_wanted = builder.and_(wanted[0], wanted[-1])
            with builder.if_else(builder.and_(exists, all_wanted)) as (inner, outer):
                with inner:
                    self._add(row, range(TAPS))
                with outer, builder.if_then(exists):
                    for i, is_wanted in enumerate(wanted):
                        with builder.if_then(is_wanted):
                            self._add(row, [i])
            with builder.if_then(wanted[-1]):
                done = builder.sub(number, long(TAPS - 1))
                self._store(builder.add(args["output"], builder.mul(done, args["output_row"])))
            self._move_on()

    def _add(self, row: Any, filter_rows: Sequence[int]) -> None:
        """Add the products of an input row, as these rows of the filter."""
        builder, args = self.builder, self.args
        for column in range(STRIP - 1 + TAPS):
            number = builder.sub(long(column), args["first_column"])
            exists = builder.icmp_unsigned("<", number, args["columns"])
            with builder.if_then(exists) if self.at_border else nullcontext():
                x = self._load(row, column)
                for i in filter_rows:
                    for p in range(max(0, column - TAPS + 1), min(STRIP, column + 1)):
                        slot, w = self.sums[i][p], self.weights[i][column - p]
                        builder.store(ISA.multiply_add(builder, x, w, builder.load(slot)), slot)

    def _store(self, output: Any) -> None:
        """Store the pixels of the output row that is done."""
        builder, args = self.builder, self.args
        sums = [builder.load(slot) for slot in self.sums[-1]]
        for p, value in enumerate(within(builder, sums, args["low"], args["high"])):
            is_wanted = builder.icmp_signed(">", args["pixels"], long(p))
            with builder.if_then(is_wanted) if self.at_border and p else nullcontext():
                builder.store_to(
                    value, builder.add(output, builder.mul(self.pixel_bytes, long(p))), 4
                )

    def _move_on(self) -> None:
        """To the next input row."""
        builder = self.builder
        for i in reversed(range(1, TAPS)):
            for old, new in zip(self.sums[i - 1], self.sums[i], strict=True):
                builder.store(builder.load(old), new)
        for slot in self.sums[0]:
            builder.store(self.bias, slot)


@emits(types.void(types.boolean, *[types.int64] * len(ARGUMENTS), types.float32, types.float32))
def run_strip(builder: Builder, at_border: Any, *arguments: Any) -> None:
    """Run the micro-kernel; its ARGUMENTS follow."""
    kinds = [LONG] * len(ARGUMENTS) + [FLOAT] * 2
    with builder.if_else(at_border) as branches:
        for chosen, branch in zip((True, False), branches, strict=True):
            with branch:
                name = f"nnk_depthwise_f32_sliding_{LANES}" + "_at_border" * chosen
                fn, is_new = builder.outlined(name, kinds)
                if is_new:
                    inner = Builder(fn.append_basic_block("entry"))
                    emit(inner, chosen, fn.args)
                    inner.ret_void()
                builder.call(fn, arguments)
