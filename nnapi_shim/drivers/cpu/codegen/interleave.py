"""Micro-kernels of the quantized depthwise convolution: input rows are interleaved into words.

    word[c] = the element of channel c in some neighbouring filter rows

Words are operands of the dot products of mac_schemes.py: four uint8, or two int16 less their zero
point. One dot product computes a filter column of as many rows, for as many outputs as a vector has
lanes. Words of neighbouring channels and pixels follow each other, so that outputs of few channels
fill vectors as well.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.floored import requantized_bytes
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.mac_schemes import quads8
from nnapi_shim.drivers.cpu.codegen.requantization import (
    ByteOutput,
    ColumnConstants,
    high_products,
)
from nnapi_shim.drivers.cpu.codegen.stack import array_on_stack
from nnapi_shim.drivers.cpu.codegen.vector import (
    BYTE,
    FLOAT,
    HALFWORD,
    LONG,
    WORD,
    Builder,
    long,
    vector,
)
from nnapi_shim.drivers.cpu.isa.tier import Tiling
from nnapi_shim.drivers.cpu.lowering.depthwise_interleaved import (
    BLOCK_VECTORS,
    INTERLEAVED_WORDS,
    unpacked,
)

INTERLEAVE_ARGUMENTS = (
    "row0 row1 row2 row3 step0 step1 step2 step3 runs length source offsets_out target_step target "
    "flip zero order"
).split()
BLOCK_ARGUMENTS = (
    "interleaved offsets taps panel weights groups interleaved_step output output_step zero_point "
    "output_flip"
).split()
"""Arguments of the micro-kernels, 64 bits each; low and high follow those of BLOCK_ARGUMENTS.

row: addresses of input rows. step: -1, or 0 for a row that is constant. There are `runs` runs of
`length` elements, source and target_step bytes apart. offsets_out: 0, or the address of int64[],
the offset from the target of every vector of words; then all is one run of whole vectors.
flip: is xor-ed to bytes of the input. zero: is subtracted from int16.
order: int32[], the order of the 32-bit words of a row before it is unpacked.

interleaved: words of the first output. offsets: int64[taps], bytes from there to the words of each
tap. panel: bias and table. weights: those of the taps. groups: number of groups of outputs, which
are interleaved_step and output_step bytes apart.
"""
GROUPS_TOGETHER = 4 if ISA.tier.registers > 16 and ISA.tier.tiling.group == 4 else 2
"""Groups of outputs that share the loaded weights; their sums fit the registers. Words of int16
take twice the registers, as LLVM loads all of a tap first.
"""


interleave_buffer = array_on_stack(WORD, INTERLEAVED_WORDS, align=64)
"""Memory of interleaved words."""


def _unpack(builder: Any, a: Any, b: Any, half: int) -> Any:
    """The lower (0) or upper (1) halves of each piece of a and b, element by element."""
    count = a.type.count
    size = min(count, 8 * ISA.unpack_bytes // a.type.element.width)
    order = [
        start + half * size // 2 + at + part
        for start in range(0, count, size)
        for at in range(size // 2)
        for part in (0, count)
    ]
    return builder.pick_of_two(a, b, order)


class _Interleaver:
    """Writes the function that interleaves rows."""

    def __init__(self, fn: Any, tiling: Tiling) -> None:
        self.tiling, self.lanes = tiling, tiling.lanes
        self.builder = Builder(fn.append_basic_block("entry"))
        self.args = dict(zip(INTERLEAVE_ARGUMENTS, fn.args, strict=True))
        self.offsets_out: Any = None

    def write(self) -> None:
        """The whole function: long pieces, short ones, and the last one again from the end."""
        builder, args, lanes = self.builder, self.args, self.lanes
        last = builder.sub(args["length"], long(lanes))
        is_scattered = builder.icmp_signed("!=", args["offsets_out"], long(0))
        is_tiny = builder.icmp_signed("<", last, long(0))
        with builder.if_else(is_scattered) as (then, otherwise):
            with then:
                self.offsets_out = args["offsets_out"]
                self.run(long(0), args["target"], last)
                self.offsets_out = None
            with otherwise, builder.each(args["runs"]) as run:
                source = builder.mul(run, args["source"])
                target = builder.add(args["target"], builder.mul(run, args["target_step"]))
                with builder.if_else(is_tiny) as (copied, direct):
                    with copied:
                        self.short_run(source, target)
                    with direct:
                        self.run(source, target, last)
        builder.ret_void()

    def run(self, source: Any, target: Any, last: Any) -> None:
        """One run; last: where its last vector begins."""
        builder, lanes = self.builder, self.lanes
        size = BLOCK_VECTORS * lanes
        pieces = builder.udiv(self.args["length"], long(size))
        done = builder.mul(pieces, long(size))
        rest = builder.sub(self.args["length"], done)
        with builder.each(pieces, size) as at:
            self.block(source, at, target, BLOCK_VECTORS)
        rounds = builder.udiv(builder.add(rest, long(lanes - 1)), long(lanes))
        with builder.each(rounds, lanes) as skipped:
            at = builder.add(done, skipped)
            at = builder.select(builder.icmp_signed("<", at, last), at, last)
            self.block(source, at, target, 1)

    def rows(self, offset: Any) -> list[Any]:
        """Addresses in the rows that are interleaved."""
        builder, args = self.builder, self.args
        return [
            builder.add(args[f"row{row}"], builder.and_(offset, args[f"step{row}"]))
            for row in range(self.tiling.group)
        ]

    def short_run(self, source: Any, target: Any) -> None:
        """A run of fewer elements than lanes; undefined words are written after it."""
        builder, lanes, group = self.builder, self.lanes, self.tiling.group
        copy = builder.ptrtoint(builder.variable(ir.ArrayType(BYTE, group * lanes)), LONG)
        with builder.each(self.args["length"]) as i:
            for row, address in enumerate(self.rows(builder.add(source, i))):
                copied = builder.add(copy, builder.add(i, long(row * lanes)))
                builder.store_to(builder.load_from(address, BYTE, 1), copied, 1)
        offsets_out = [builder.add(copy, long(row * lanes)) for row in range(group)]
        self.interleaved(offsets_out, [target])

    def block(self, source: Any, at: Any, target: Any, vectors: int) -> None:
        """`vectors` vectors of words from element `at` on."""
        builder, lanes = self.builder, self.lanes
        rows = self.rows(builder.add(source, at))
        if self.offsets_out is None:
            target = builder.add(target, builder.mul(at, long(4)))
            targets = [builder.add(target, long(4 * lanes * v)) for v in range(vectors)]
        else:
            entry = builder.add(
                self.offsets_out, builder.mul(builder.udiv(at, long(lanes)), long(8))
            )
            targets = [
                builder.add(target, builder.load_from(builder.add(entry, long(8 * v)), LONG, 8))
                for v in range(vectors)
            ]
        self.interleaved(rows, targets)

    def interleaved(self, addresses: list[Any], targets: list[Any]) -> None:
        """Elements at the addresses become vectors of words at the targets."""
        builder, lanes = self.builder, self.lanes
        count = len(targets) * lanes
        kind = vector(BYTE, count)
        flip = builder.splat(builder.trunc(self.args["flip"], BYTE), count)
        rows = [builder.xor(builder.load_from(address, kind, 1), flip) for address in addresses]
        make = self.quads if self.tiling.group == 4 else self.pairs
        vectors = make(rows)
        each = len(vectors) // len(targets)
        for number, words in enumerate(vectors):
            address = long(4 * lanes // each * (number % each))
            builder.store_to(words, builder.add(targets[number // each], address), 4)

    def quads(self, rows: list[Any]) -> list[Any]:
        """Four rows of bytes; words of 128 bits at a time are in order."""
        builder = self.builder
        if rows[0].type.count > ISA.unpack_bytes:
            # Unpacking works piece by piece: put the words first where each piece needs them.
            rows = [self.reordered(row) for row in rows]
        halves = vector(HALFWORD, rows[0].type.count // 2)
        result = []
        for half in (0, 1):
            upper, lower = (
                builder.bitcast(_unpack(builder, rows[at], rows[at + 1], half), halves)
                for at in (0, 2)
            )
            result += [_unpack(builder, upper, lower, part) for part in (0, 1)]
        return result

    def reordered(self, row: Any) -> Any:
        """The 32-bit words of a vector in the order `unpacked`."""
        builder, count = self.builder, row.type.count // 4
        words = builder.bitcast(row, vector(WORD, count))
        ordered = ISA.words_in_order(builder, words, unpacked(count), self.args["order"])
        return builder.bitcast(ordered, row.type)

    def pairs(self, rows: list[Any]) -> list[Any]:
        """Two rows of bytes."""
        builder, lanes = self.builder, self.lanes
        count = rows[0].type.count
        wide = vector(HALFWORD, 2 * lanes)
        zero = builder.splat(builder.trunc(self.args["zero"], HALFWORD), 2 * lanes)
        result = []
        for first in range(0, count, lanes):
            order = [at for c in range(first, first + lanes) for at in (c, c + count)]
            mixed = builder.pick_of_two(rows[0], rows[1], order)
            result.append(builder.sub(builder.sext(mixed, wide), zero))
        return result


class _BlockWriter:
    """Writes the function that computes a block of outputs of every group."""

    def __init__(self, fn: Any, tiling: Tiling) -> None:
        self.builder = Builder(fn.append_basic_block("entry"))
        self.args = dict(zip(BLOCK_ARGUMENTS, fn.args[: len(BLOCK_ARGUMENTS)], strict=True))
        low, high = fn.args[len(BLOCK_ARGUMENTS) :]
        self.last = ByteOutput(self.args["zero_point"], low, high, self.args["output_flip"])
        self.lanes, self.is_quad = tiling.lanes, tiling.group == 4
        self.scheme = quads8()

    def write(self) -> None:
        """The whole function: GROUPS_TOGETHER groups at a time, then the rest."""
        builder, groups = self.builder, self.args["groups"]
        rest = builder.and_(groups, long(GROUPS_TOGETHER - 1))
        done = builder.sub(groups, rest)
        with builder.each(builder.udiv(groups, long(GROUPS_TOGETHER)), GROUPS_TOGETHER) as group:
            self.groups(group, GROUPS_TOGETHER)
        with builder.each(rest) as number:
            self.groups(builder.add(done, number), 1)
        builder.ret_void()

    def vectors(self, address: Any, kind: Any) -> list[Any]:
        """The vectors of a block from an address on."""
        builder, size = self.builder, 4 * self.lanes
        addresses = [builder.add(address, long(size * v)) for v in range(BLOCK_VECTORS)]
        return [builder.load_from(at, kind, 4) for at in addresses]

    def groups(self, group: Any, count: int) -> None:
        """The blocks of `count` groups."""
        builder, args, lanes = self.builder, self.args, self.lanes
        width, kind = BLOCK_VECTORS * lanes, vector(WORD, lanes)
        bias = self.vectors(args["panel"], kind)
        sums = [[builder.variable(kind, value) for value in bias] for _ in range(count)]
        interleaved = builder.add(args["interleaved"], builder.mul(group, args["interleaved_step"]))
        with builder.each(args["taps"]) as tap:
            address = builder.add(args["offsets"], builder.mul(tap, long(8)))
            words = builder.add(interleaved, builder.load_from(address, LONG, 8))
            panel = builder.add(args["weights"], builder.mul(tap, long(4 * width)))
            firsts = [
                builder.add(words, builder.mul(args["interleaved_step"], long(number)))
                for number in range(count)
            ]
            self.products(panel, firsts, sums)
        table = builder.add(args["panel"], long(4 * width))
        columns = ColumnConstants(builder, table, long(width), long(0), BLOCK_VECTORS, lanes)
        output = builder.add(args["output"], builder.mul(group, args["output_step"]))
        totals = [[builder.load(slot) for slot in slots] for slots in sums]
        for number, row in enumerate(high_products(builder, totals, columns)):
            target = builder.add(output, builder.mul(args["output_step"], long(number)))
            builder.store_to(requantized_bytes(builder, [row], columns, self.last), target, 1)

    def products(self, panel: Any, firsts: Sequence[Any], sums: Sequence[Sequence[Any]]) -> None:
        """Add the products of a tap. panel: its weights; firsts: the words of each group."""
        builder, size = self.builder, 4 * self.lanes
        if not self.is_quad:
            self.pair_products(panel, firsts, sums)
            return
        weights = [
            self.scheme.weights(builder, builder.add(panel, long(size * v)), self.lanes)
            for v in range(BLOCK_VECTORS)
        ]
        for first, slots in zip(firsts, sums, strict=True):
            inputs = self.vectors(first, vector(BYTE, size))
            for slot, x, w in zip(slots, inputs, weights, strict=True):
                builder.store(self.scheme.step(builder, builder.load(slot), x, w), slot)

    def pair_products(
        self, panel: Any, firsts: Sequence[Any], sums: Sequence[Sequence[Any]]
    ) -> None:
        """As `products`, of int16: two vectors of sums at a time."""
        builder, kind = self.builder, vector(HALFWORD, 4 * self.lanes)
        for v in range(0, BLOCK_VECTORS, 2):
            at = long(4 * self.lanes * v)
            w = builder.load_from(builder.add(panel, at), kind, 4)
            for first, slots in zip(firsts, sums, strict=True):
                x = builder.load_from(builder.add(first, at), kind, 4)
                totals = [builder.load(slot) for slot in slots[v : v + 2]]
                for slot, total in zip(
                    slots[v:], ISA.dot_pairs_of_two(builder, totals, x, w), strict=False
                ):
                    builder.store(total, slot)


def interleaver(tiling: Tiling) -> Any:
    """A function of kernels with the arguments INTERLEAVE_ARGUMENTS."""

    @emits(types.void(*[types.int64] * len(INTERLEAVE_ARGUMENTS)))
    def interleave(builder: Any, *arguments: Any) -> None:
        kinds = [LONG] * len(INTERLEAVE_ARGUMENTS)
        fn, is_new = builder.outlined(f"nnk_interleave_{tiling.group}", kinds)
        if is_new:
            _Interleaver(fn, tiling).write()
        builder.call(fn, arguments)

    return interleave


def blocks(tiling: Tiling) -> Any:
    """A function of kernels with the arguments BLOCK_ARGUMENTS, low and high."""
    words, bounds = [types.int64] * len(BLOCK_ARGUMENTS), [types.float32] * 2

    @emits(types.void(*words, *bounds))
    def run(builder: Any, *arguments: Any) -> None:
        kinds = [LONG] * len(BLOCK_ARGUMENTS) + [FLOAT] * 2
        fn, is_new = builder.outlined(f"nnk_interleaved_{tiling.group}", kinds)
        if is_new:
            _BlockWriter(fn, tiling).write()
        builder.call(fn, arguments)

    return run
