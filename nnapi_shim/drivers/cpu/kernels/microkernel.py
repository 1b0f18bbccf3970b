"""Micro-kernels of the matrix product: `rows` x (`vectors` * lanes) outputs, written as LLVM code.

    output[m, n] = finish(bias[n] + sum over taps t and words k of input(t, m)[k] . panel[t, k, n])

The row that tap t reads for output m starts at base + table[t][m]; a negative entry stands for the
row `zero`, which is what lies outside an image. A panel is its head (bias, then the table of
quantized kernels, see requantization.py) and `taps * depth` rows of one word per column. Rows past
the last repeat it: they compute and store the same values again. Every output is summed in the
order of t and k, on `chains` interleaved partial sums. Where there are many words, floating-point
sums of about BLOCK of them are added up apart from each other, so that the error does not grow with
the number of all words but with its root.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from nnapi_shim.drivers.cpu.kernels.arithmetic import Arithmetic
from nnapi_shim.drivers.cpu.kernels.requantization import (
    Bytes,
    Columns,
    close,
    exactly,
    to_bytes,
)
from nnapi_shim.drivers.cpu.kernels.vector import (
    BYTE,
    FLOAT,
    LONG,
    WORD,
    clamp,
    declaration,
    function,
    join,
    load,
    long,
    pick,
    splat,
    store,
    variable,
    vector,
)
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling

ARGUMENTS = (
    "table taps depth base zero panel output output_stride rows columns correction flip zero_point "
    "output_flip"
).split()
"""Arguments of a micro-kernel, 64 bits each; the float arguments `low` and `high` follow.

table: int64[taps, rows], depth: words per tap, output_stride: bytes, rows and columns: how many are
wanted. Quantized: correction: int32[rows] to add, or 0; flip: 64 bytes, xor-ed to words of the
input; the rest says what becomes of the sums, see ../lowering/requantization.py.
"""


BLOCK = 128
"""Words after which a floating-point sum goes to the total, and starts again from 0; twice as many
are summed at once.
"""

BYTE_VECTORS = 4
"""Vectors of sums that become one of bytes."""


class _Tile:
    """One micro-kernel being written."""

    def __init__(
        self,
        fn: Any,
        tiling: Tiling,
        arithmetic: Arithmetic,
        rows: int,
        vectors: int,
        chains: int,
        in_blocks: bool,
    ) -> None:
        self.in_blocks = in_blocks
        self.tiling, self.arithmetic = tiling, arithmetic
        self.rows, self.vectors, self.chains = rows, vectors, chains
        self.lanes = tiling.lanes
        self.builder = ir.IRBuilder(fn.append_basic_block("entry"))
        self.given = dict(zip(ARGUMENTS, fn.args[: len(ARGUMENTS)], strict=True))
        self.low, self.high = fn.args[len(ARGUMENTS) :]
        self.sum_type = vector(arithmetic.accumulator, self.lanes)

    def write(self) -> None:
        """The whole function."""
        builder, given = self.builder, self.given
        width = self.vectors * self.lanes
        zeros = ir.Constant(self.sum_type, None)
        bias = [
            load(builder, builder.add(given["panel"], long(4 * self.lanes * j)), self.sum_type, 4)
            for j in range(self.vectors)
        ]
        if self.in_blocks:
            self.totals = [
                [variable(builder, self.sum_type, value) for value in bias]
                for _ in range(self.rows)
            ]
            self.pending = variable(builder, LONG, long(0))
            starts = [[zeros] * self.vectors] * self.chains
        else:
            starts = [bias] + [[zeros] * self.vectors] * (self.chains - 1)
        self.sums = [
            [[variable(builder, self.sum_type, value) for value in start] for _ in range(self.rows)]
            for start in starts
        ]
        self.flip = self.arithmetic.mask(builder, given["flip"], self.lanes)
        row_bytes = width * self.arithmetic.word_bytes
        head = width * self.arithmetic.head
        weights = variable(builder, LONG, builder.add(given["panel"], long(head)))
        with cgutils.for_range(builder, given["taps"]) as tap:
            rows = self._rows(tap.index)
            at = builder.load(weights)
            if self.in_blocks:
                self._blocks(rows, at, row_bytes)
            else:
                self._part(long(0), given["depth"], rows, at, row_bytes)
            size = builder.mul(given["depth"], long(row_bytes))
            builder.store(builder.add(at, size), weights)
        totals = [[self._total(m, j) for j in range(self.vectors)] for m in range(self.rows)]
        is_float = self.arithmetic.accumulator is FLOAT
        (self._store if is_float else self._store_quantized)(totals)
        builder.ret_void()

    def _rows(self, tap: Any) -> list[Any]:
        """Addresses of the input rows of a tap."""
        builder, given = self.builder, self.given
        entries = builder.add(given["table"], builder.mul(tap, long(8 * self.rows)))
        rows = []
        for m in range(self.rows):
            offset = load(builder, builder.add(entries, long(8 * m)), LONG, 8)
            outside = builder.icmp_signed("<", offset, long(0))
            inside = builder.add(given["base"], offset)
            rows.append(builder.select(outside, given["zero"], inside))
        return rows

    def _blocks(self, rows: Sequence[Any], at: Any, row_bytes: int) -> None:
        """All words of a tap, BLOCK at a time; what is summed goes to the totals now and then."""
        builder, depth = self.builder, self.given["depth"]
        count = builder.udiv(builder.add(depth, long(BLOCK - 1)), long(BLOCK))
        with cgutils.for_range(builder, count) as block:
            first = builder.mul(block.index, long(BLOCK))
            rest = builder.sub(depth, first)
            is_short = builder.icmp_signed("<", rest, long(BLOCK))
            words = builder.select(is_short, rest, long(BLOCK))
            self._part(first, words, rows, at, row_bytes)
            pending = builder.add(builder.load(self.pending), words)
            builder.store(pending, self.pending)
            with builder.if_then(builder.icmp_signed(">=", pending, long(BLOCK)), likely=False):
                zeros = ir.Constant(self.sum_type, None)
                for m in range(self.rows):
                    for j in range(self.vectors):
                        builder.store(self._total(m, j), self.totals[m][j])
                        for chain in self.sums:
                            builder.store(zeros, chain[m][j])
                builder.store(long(0), self.pending)

    def _part(self, first: Any, count: Any, rows: Sequence[Any], at: Any, row_bytes: int) -> None:
        """`count` words of the rows from word `first` on, as many chains at a time as there are."""
        builder = self.builder
        whole = builder.udiv(count, long(self.chains))
        self._words(whole, first, self.chains, rows, at, row_bytes)
        if self.chains > 1:
            done = builder.mul(whole, long(self.chains))
            rest = builder.sub(count, done)
            self._words(rest, builder.add(first, done), 1, rows, at, row_bytes)

    def _words(
        self, count: Any, first: Any, chains: int, rows: Sequence[Any], at: Any, row_bytes: int
    ) -> None:
        """Loop `count` times over `chains` words of the rows, from word `first` on."""
        builder, arithmetic, lanes = self.builder, self.arithmetic, self.lanes
        vector_bytes = lanes * arithmetic.word_bytes
        with cgutils.for_range(builder, count) as loop:
            word = builder.add(first, builder.mul(loop.index, long(chains)))
            panel = builder.add(at, builder.mul(word, long(row_bytes)))
            offset = builder.mul(word, long(4))
            for c in range(chains):
                weights = [
                    arithmetic.weights(
                        builder, builder.add(panel, long(c * row_bytes + j * vector_bytes)), lanes
                    )
                    for j in range(self.vectors)
                ]
                for m, row in enumerate(rows):
                    place = builder.add(builder.add(row, offset), long(4 * c))
                    value = load(builder, place, WORD, 1)
                    x = arithmetic.broadcast(builder, value, self.flip, lanes)
                    for slot, w in zip(self.sums[c][m], weights, strict=True):
                        builder.store(arithmetic.step(builder, builder.load(slot), x, w), slot)

    def _total(self, m: int, j: int) -> Any:
        """The partial sums of one output vector together."""
        builder = self.builder
        add = builder.fadd if self.arithmetic.accumulator is FLOAT else builder.add
        total = builder.load(self.sums[0][m][j])
        for c in range(1, self.chains):
            total = add(total, builder.load(self.sums[c][m][j]))
        return add(total, builder.load(self.totals[m][j])) if self.in_blocks else total

    def _store(self, totals: Sequence[Sequence[Any]]) -> None:
        """Finish the sums and store the wanted rows and columns."""
        builder, given = self.builder, self.given
        low, high = (splat(builder, bound, self.lanes) for bound in (self.low, self.high))
        last = builder.sub(given["rows"], long(1))
        rows = []
        for m, sums in enumerate(totals):
            exists = builder.icmp_signed("<", long(m), last)
            row = builder.select(exists, long(m), last)
            address = builder.add(given["output"], builder.mul(row, given["output_stride"]))
            rows.append((address, [clamp(builder, total, low, high) for total in sums]))
        whole = builder.icmp_signed(">=", given["columns"], long(self.vectors * self.lanes))
        with builder.if_else(whole) as (then, otherwise):
            with then:
                for address, values in rows:
                    store(builder, join(builder, values), address, 4)
            with otherwise:
                before = (self.vectors - 1) * self.lanes
                count = builder.sub(given["columns"], long(before))
                for address, values in rows:
                    if before:
                        store(builder, join(builder, values[:-1]), address, 4)
                    rest = builder.add(address, long(before * 4))
                    self._store_some(values[-1], rest, 4, count)

    def _store_quantized(self, totals: Sequence[Sequence[Any]]) -> None:
        """The same from int32 sums to bytes, as many rows at a time as fill a vector of these.

        What a row's float32 is not enough for is told of by a flag, and done once more at the end.
        """
        builder, given, lanes = self.builder, self.given, self.lanes
        kind, row_bytes = self.sum_type, 4 * self.vectors * lanes
        width = self.vectors * lanes
        last = Bytes(given["zero_point"], self.low, self.high, given["output_flip"])
        table = builder.add(given["panel"], long(4 * width))
        columns = Columns(builder, table, long(width), long(0), self.vectors, lanes)
        whole = builder.icmp_signed(">=", given["columns"], long(width))
        last_row = builder.sub(given["rows"], long(1))
        corrected = self._corrected(totals, last_row)
        sums = builder.ptrtoint(
            variable(builder, ir.ArrayType(kind, self.rows * self.vectors)), LONG
        )
        flags = builder.ptrtoint(variable(builder, ir.ArrayType(LONG, self.rows)), LONG)
        unsure = None
        together = max(1, BYTE_VECTORS // self.vectors)
        for first in range(0, self.rows, together):
            rows = range(first, min(first + together, self.rows))
            steps = []
            for m in rows:
                for j, total in enumerate(corrected[m]):
                    place = long(m * row_bytes + 4 * lanes * j)
                    store(builder, total, builder.add(sums, place), 4)
                found, flag = close(builder, corrected[m], columns, self.tiling)
                flag = builder.zext(flag, LONG)
                store(builder, flag, builder.add(flags, long(8 * m)), 8)
                unsure = flag if unsure is None else builder.or_(unsure, flag)
                steps += found
            value = to_bytes(builder, steps, last, self.tiling)
            for m in rows:
                part = range((m - first) * width, (m - first + 1) * width)
                row = value if len(rows) == 1 else pick(builder, value, part)
                number = builder.select(
                    builder.icmp_signed("<", long(m), last_row), long(m), last_row
                )
                self._store_bytes(row, number, whole)
        with builder.if_then(builder.icmp_signed("!=", unsure, long(0)), likely=False):
            with cgutils.for_range(builder, given["rows"]) as loop:
                flag = load(builder, builder.add(flags, builder.shl(loop.index, long(3))), LONG, 8)
                with builder.if_then(builder.icmp_signed("!=", flag, long(0))):
                    place = builder.add(sums, builder.mul(loop.index, long(row_bytes)))
                    exactly(builder, place, self.vectors, columns, last, kind)
                    steps = [
                        load(builder, builder.add(place, long(4 * lanes * j)), kind, 4)
                        for j in range(self.vectors)
                    ]
                    value = to_bytes(builder, steps, last, self.tiling)
                    self._store_bytes(value, loop.index, whole)

    def _corrected(self, totals: Sequence[Sequence[Any]], last_row: Any) -> list[list[Any]]:
        """Sums plus what is to be added to their rows, if there is such a thing."""
        builder, kind = self.builder, self.sum_type
        slots = [[variable(builder, kind, total) for total in row] for row in totals]
        given = self.given["correction"]
        with builder.if_then(builder.icmp_signed("!=", given, long(0)), likely=False):
            for m, row in enumerate(slots):
                number = builder.select(
                    builder.icmp_signed("<", long(m), last_row), long(m), last_row
                )
                address = builder.add(given, builder.mul(number, long(4)))
                correction = splat(builder, load(builder, address, WORD, 4), self.lanes)
                for slot in row:
                    builder.store(builder.add(builder.load(slot), correction), slot)
        return [[builder.load(slot) for slot in row] for row in slots]

    def _store_bytes(self, value: Any, row: Any, whole: Any) -> None:
        """Store the wanted columns of a row."""
        builder, given = self.builder, self.given
        target = builder.add(given["output"], builder.mul(row, given["output_stride"]))
        with builder.if_else(whole) as (then, otherwise):
            with then:
                store(builder, value, target, 1)
            with otherwise:
                self._store_some(value, target, 1, given["columns"])

    def _store_some(self, value: Any, address: Any, size: int, count: Any) -> None:
        """Store the first `count` lanes."""
        builder, kind = self.builder, value.type
        if self.tiling.masked:
            # In the size that makes a mask of the store's lanes without more ado.
            is_float = self.arithmetic.element is FLOAT
            number = LONG if is_float else BYTE
            lanes = ir.Constant(vector(number, kind.count), list(range(kind.count)))
            wanted = count if is_float else builder.trunc(count, BYTE)
            mask = builder.icmp_signed("<", lanes, splat(builder, wanted, kind.count))
            suffix = "f32" if is_float else "i8"
            masked = declaration(
                builder.module,
                f"llvm.masked.store.v{kind.count}{suffix}.p0",
                ir.VoidType(),
                [kind, ir.PointerType(), WORD, mask.type],
            )
            pointer = builder.inttoptr(address, ir.PointerType())
            builder.call(masked, [value, pointer, ir.Constant(WORD, size), mask])
            return
        scratch = builder.ptrtoint(variable(builder, kind, value), LONG)
        with cgutils.for_range(builder, count) as loop:
            offset = builder.mul(loop.index, long(size))
            one = load(builder, builder.add(scratch, offset), kind.element, size)
            store(builder, one, builder.add(address, offset), size)


def tile(tiling: Tiling, arithmetic: Arithmetic, rows: int, chains: int = 1) -> Any:
    """A numba function that runs the micro-kernel with as many vectors as `columns` asks for.

    It takes the ARGUMENTS, low and high.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        columns = arguments[ARGUMENTS.index("columns")]
        for vectors in range(1, tiling.vectors + 1):
            fits = builder.icmp_signed(">", columns, long(tiling.lanes * (vectors - 1)))
            if vectors < tiling.vectors:
                enough = builder.icmp_signed("<=", columns, long(tiling.lanes * vectors))
                fits = builder.and_(fits, enough)
            with builder.if_then(fits):
                if arithmetic.accumulator is not FLOAT:
                    call(builder, arguments, vectors, False)
                    continue
                with builder.if_else(has_many(builder, arguments)) as (then, otherwise):
                    with then:
                        call(builder, arguments, vectors, True)
                    with otherwise:
                        call(builder, arguments, vectors, False)
        return context.get_dummy_value()

    def has_many(builder: Any, arguments: Any) -> Any:
        taps, depth = (arguments[ARGUMENTS.index(name)] for name in ("taps", "depth"))
        return builder.icmp_signed(">", builder.mul(taps, depth), long(2 * BLOCK))

    def call(builder: Any, arguments: Any, vectors: int, in_blocks: bool) -> None:
        name = f"nnk_tile_{arithmetic.name}_{rows}x{vectors}x{tiling.lanes}"
        kinds = [LONG] * len(ARGUMENTS) + [FLOAT] * 2
        fn, is_new = function(builder.module, name + "_blocks" * in_blocks, kinds)
        if is_new:
            _Tile(fn, tiling, arithmetic, rows, vectors, chains, in_blocks).write()
        builder.call(fn, arguments)

    @intrinsic
    def run(
        typing_context, table, taps, depth, base, zero, panel, output, output_stride, rows, columns,
        correction, flip, zero_point, output_flip, low, high,
    ):  # fmt: skip
        words = [types.int64] * len(ARGUMENTS)
        return types.void(*words, types.float32, types.float32), generate

    return run
