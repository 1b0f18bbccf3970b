"""Micro-kernels of the matrix product: `rows` x (`vectors` * lanes) outputs, written as LLVM code.

    output[m, n] = finish(bias[n] + sum over taps t and words k of input(t, m)[k] . panel[t, k, n])

The row that tap t reads for output m starts at base + table[t][m]; a negative entry is the row
`zero`, the padding of an image. A tap whose entries are all below -1 is skipped. A panel is its
head (bias, then the table of quantized kernels, see requantization.py) and `taps * depth` rows of
one word per column. Rows past the last repeat it: they compute and store the same values again.
Every output is summed in the order of t and k, on `chains` interleaved partial sums. Where there
are many words, floating-point sums of about BLOCK of them are added up apart from each other, so
that the error does not grow with the number of all words but with its root.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from llvmlite import ir

from nnapi_shim.drivers.cpu.codegen.mac_schemes import MacScheme
from nnapi_shim.drivers.cpu.codegen.panel_prefetch import PanelPrefetch
from nnapi_shim.drivers.cpu.codegen.products import Products
from nnapi_shim.drivers.cpu.codegen.vector import FLOAT, LONG, WORD, long, vector
from nnapi_shim.drivers.cpu.isa.tier import Tiling
from nnapi_shim.drivers.cpu.lowering.gemm import OUTSIDE

ARGUMENTS = (
    "table taps depth base zero panel output output_stride rows columns correction flip zero_point "
    "output_flip"
).split()
"""Arguments of a micro-kernel, 64 bits each; the float arguments `low` and `high` follow.

table: int64[taps, rows], depth: words per tap, output_stride: bytes, rows and columns: how many are
wanted. Quantized: correction: int32[rows] to add, or 0; flip: 64 bytes, xor-ed to words of the
input, or the list of a panel of ../lowering/shifted_words.py; the rest says what becomes of the
sums, see ../lowering/requantization.py.
"""

ADDEND_ARGUMENTS = "addend addend_stride addition".split()
"""Behind these, of micro-kernels that can add something to the outputs: where its rows lie, or 0,
bytes from one to the next, and the block of lowering/fused_add.py.
"""

TILES_ARGUMENTS = "tiles table_step last_table tile_bytes correction_step ahead".split()
"""Of micro-kernels that compute several tiles, one below the other. A tile's table, base and
correction are so many bytes behind those of the tile before, output and addend as many rows as a
tile has; the last one has `last_table`, and `rows` are the rows of the last one. ahead: a panel to
be prefetched meanwhile, or 0.
"""


BLOCK = 128
"""Words after which a floating-point sum goes to the total, and starts again from 0; twice as many
are summed at once.
"""


def names_of(adds: bool, is_alone: bool) -> list[str]:
    """The arguments of a micro-kernel before `low` and `high`."""
    return ARGUMENTS + ADDEND_ARGUMENTS * adds + TILES_ARGUMENTS * (not is_alone)


class MicroKernel(Products):
    """One micro-kernel being written."""

    def __init__(
        self,
        fn: Any,
        tiling: Tiling,
        scheme: MacScheme,
        rows: int,
        vectors: int,
        chains: int,
        in_blocks: bool,
        adds: bool,
        half: bool,
        is_alone: bool,
    ) -> None:
        names = names_of(adds, is_alone)
        super().__init__(fn, names, tiling, scheme, rows, vectors, adds, half)
        self.chains, self.in_blocks, self.is_alone = chains, in_blocks, is_alone
        self.prefetch: PanelPrefetch | None = None
        # Rows whose whole vectors of words are multiplied two by two.
        self.paired = rows // 2 * 2 if scheme.has_block_products and tiling.words == 4 else 0

    def write(self) -> None:
        """The whole function."""
        if self.is_alone:
            self._write_tile()
        else:
            self._write_tiles()
        self.builder.ret_void()

    def _write_tiles(self) -> None:
        """All tiles: the addresses move on from one to the next."""
        builder, all_tiles = self.builder, self.args
        steps = {
            "table": all_tiles["table_step"],
            "base": all_tiles["tile_bytes"],
            "correction": all_tiles["correction_step"],
            "output": self._of_tile("output_stride"),
        }
        if self.adds:
            steps["addend"] = self._of_tile("addend_stride")
        slots = {name: builder.variable(LONG, all_tiles[name]) for name in steps}
        # The weights of a single row are read once, as fast as memory allows.
        if self.scheme.prefetches and self.rows > 1:
            word_bytes = self.vectors * self.lanes * self.scheme.word_bytes
            arguments = all_tiles["ahead"], word_bytes, all_tiles["tiles"]
            self.prefetch = PanelPrefetch(builder, *arguments)
        last = builder.sub(all_tiles["tiles"], long(1))
        with builder.each(all_tiles["tiles"]) as number:
            own = {name: builder.load(slot) for name, slot in slots.items()}
            is_last = builder.icmp_signed("==", number, last)
            ends = {"table": all_tiles["last_table"], "rows": all_tiles["rows"]}
            for name, usual in (("table", own["table"]), ("rows", long(self.rows))):
                own[name] = builder.select(is_last, ends[name], usual)
            self.args = {**all_tiles, **own}
            self._write_tile()
            for name, step in steps.items():
                slot = slots[name]
                builder.store(builder.add(builder.load(slot), step), slot)

    def _each(self, count: Any, together: int, body: Callable[[Any], None]) -> None:
        """As PanelPrefetch.each, also where nothing is prefetched."""
        if self.prefetch is not None:
            self.prefetch.each(count, together, body)
            return
        with self.builder.each(count, together) as done:
            body(done)

    def _of_tile(self, stride: str) -> Any:
        """The bytes of all rows of a tile."""
        return self.builder.mul(self.args[stride], long(self.rows))

    def _write_tile(self) -> None:
        """One tile."""
        builder, args = self.builder, self.args
        width = self.vectors * self.lanes
        zeros = [ir.Constant(kind, None) for kind in self.kinds]
        bias = [
            builder.load_from(builder.add(args["panel"], long(4 * self.lanes * j)), kind, 4)
            for j, kind in enumerate(self.kinds)
        ]
        if self.in_blocks:
            self.totals = [
                [builder.variable(value.type, value) for value in bias] for _ in range(self.rows)
            ]
            self.pending = builder.variable(LONG, long(0))
            starts = [zeros] * self.chains
        else:
            starts = [bias] + [zeros] * (self.chains - 1)
        self.sums = [
            [[builder.variable(value.type, value) for value in start] for _ in range(self.rows)]
            for start in starts
        ]
        block = vector(WORD, 4)
        self.blocks = [
            [builder.variable(block, ir.Constant(block, None)) for _ in range(2 * self.vectors)]
            for _ in range(0, self.paired, 2)
        ]
        self.flip = self.scheme.mask(builder, args["flip"], self.lanes)
        if self.adds:
            self.fetch()
        row_bytes = width * self.scheme.word_bytes
        head = width * self.scheme.head
        first_word = builder.add(args["panel"], long(head))
        weights = builder.variable(LONG, first_word)
        tap_bytes = builder.mul(args["depth"], long(row_bytes))
        with builder.each(args["taps"]) as tap:
            rows, is_skipped = self._rows(tap)
            at = builder.load(weights)
            with builder.if_then(builder.not_(is_skipped), likely=True):
                if self.tiling.words > 1 and not self.in_blocks:
                    self._row_vectors(rows, weights, row_bytes)
                else:
                    self._tap(tap, rows, at, first_word, row_bytes)
            builder.store(builder.add(at, tap_bytes), weights)
        totals = [[self._total(m, j) for j in range(self.vectors)] for m in range(self.rows)]
        self.store(totals)

    def _tap(self, tap: Any, rows: Sequence[Any], at: Any, first_word: Any, row_bytes: int) -> None:
        """All words of a tap; at: those of its weights."""
        if self.in_blocks:
            self._blocks(rows, at, row_bytes)
        elif self.scheme.is_shifted:
            self._shifted(tap, rows, first_word)
        else:
            self._part(long(0), self.args["depth"], rows, at, row_bytes)
        if self.scheme.has_terms:
            self._further_terms(tap, rows, first_word, row_bytes)

    def _rows(self, tap: Any) -> tuple[list[Any], Any]:
        """Addresses of the input rows of a tap, and whether it is skipped."""
        builder, args = self.builder, self.args
        entries = builder.add(args["table"], builder.mul(tap, long(8 * self.rows)))
        rows, offsets = [], []
        for m in range(self.rows):
            offset = builder.load_from(builder.add(entries, long(8 * m)), LONG, 8)
            offsets.append(offset)
            outside = builder.icmp_signed("<", offset, long(0))
            inside = builder.add(args["base"], offset)
            rows.append(builder.select(outside, args["zero"], inside))
        return rows, builder.icmp_signed("<", reduce(builder.and_, offsets), long(OUTSIDE))

    def _blocks(self, rows: Sequence[Any], at: Any, row_bytes: int) -> None:
        """All words of a tap, BLOCK at a time; the totals take the sums after BLOCK words."""
        builder, depth = self.builder, self.args["depth"]
        count = builder.udiv(builder.add(depth, long(BLOCK - 1)), long(BLOCK))
        with builder.each(count, BLOCK) as first:
            rest = builder.sub(depth, first)
            is_short = builder.icmp_signed("<", rest, long(BLOCK))
            words = builder.select(is_short, rest, long(BLOCK))
            self._part(first, words, rows, at, row_bytes)
            pending = builder.add(builder.load(self.pending), words)
            builder.store(pending, self.pending)
            with builder.if_then(builder.icmp_signed(">=", pending, long(BLOCK)), likely=False):
                for m in range(self.rows):
                    for j, kind in enumerate(self.kinds):
                        builder.store(self._total(m, j), self.totals[m][j])
                        for chain in self.sums:
                            builder.store(ir.Constant(kind, None), chain[m][j])
                builder.store(long(0), self.pending)

    def _part(self, first: Any, count: Any, rows: Sequence[Any], at: Any, row_bytes: int) -> None:
        """`count` words of the rows from word `first` on, as many chains at a time as there are."""
        builder = self.builder
        if self.scheme.together > 1:
            self._words_together(count, first, rows, at, row_bytes)
            return
        together = max(self.chains, self.tiling.words)
        whole = builder.udiv(count, long(together))
        self._words(whole, first, together, rows, at, row_bytes)
        if together > 1:
            done = builder.mul(whole, long(together))
            rest = builder.sub(count, done)
            self._words(rest, builder.add(first, done), 1, rows, at, row_bytes)

    def _words(
        self, count: Any, first: Any, together: int, rows: Sequence[Any], at: Any, row_bytes: int
    ) -> None:
        """Loop `count` times over `together` words of the rows, from word `first` on."""
        builder = self.builder

        def some(done: Any) -> None:
            word = builder.add(first, done)
            panel = builder.add(at, builder.mul(word, long(row_bytes)))
            offset = builder.mul(word, long(4))
            if together == self.tiling.words > 1:
                self._vector_words(rows, offset, panel, row_bytes)
            else:
                for c in range(together):
                    weights = builder.add(panel, long(c * row_bytes))
                    self._word(rows, builder.add(offset, long(4 * c)), weights, c)

        self._each(count, together, some)

    def _words_together(
        self, count: Any, first: Any, rows: Sequence[Any], at: Any, row_bytes: int
    ) -> None:
        """As _words, for a scheme that takes several words at once, which divide `count`.

        Vector by vector of the columns: the weights of all would not fit the registers.
        """
        builder, scheme = self.builder, self.scheme
        numbers = range(scheme.together)
        with builder.each(builder.udiv(count, long(scheme.together)), scheme.together) as done:
            word = builder.add(first, done)
            panel, offset = (
                builder.add(start, builder.mul(word, long(size)))
                for start, size in ((at, row_bytes), (long(0), 4))
            )
            for j in range(self.vectors):
                vector_at = builder.add(panel, long(j * self.lanes * scheme.word_bytes))
                weights = [
                    scheme.weights(builder, builder.add(vector_at, long(n * row_bytes)), self.lanes)
                    for n in numbers
                ]
                for m, row in enumerate(rows):
                    slot, operands = self.sums[0][m][j], []
                    for n in numbers:
                        value = self.word_behind(row, builder.add(offset, long(4 * n)))
                        x = scheme.broadcast(builder, value, None, self.lanes)
                        operands += [x, weights[n]]
                    total = scheme.step(builder, builder.load(slot), *operands, self.flip)
                    builder.store(total, slot)

    def _further_terms(
        self, tap: Any, rows: Sequence[Any], first_word: Any, row_bytes: int
    ) -> None:
        """Add the further terms of a tap's words: a list at the end of the panel."""
        builder, args = self.builder, self.args

        words = builder.mul(args["taps"], args["depth"])
        starts = builder.add(first_word, builder.mul(words, long(row_bytes)))
        terms = builder.add(starts, builder.mul(builder.add(args["taps"], long(1)), long(8)))
        at = builder.add(starts, builder.mul(tap, long(8)))
        first, end = (builder.load_from(builder.add(at, long(8 * n)), LONG, 8) for n in (0, 1))
        with builder.each(builder.sub(end, first)) as done:
            number = builder.add(first, done)
            term = builder.add(terms, builder.mul(number, long(8 + row_bytes)))
            self._word(rows, builder.load_from(term, LONG, 4), builder.add(term, long(8)), 0)

    def _shifted(self, tap: Any, rows: Sequence[Any], first_word: Any) -> None:
        """Add the words of a tap, those in couples first."""
        builder, args = self.builder, self.args
        at = builder.add(args["flip"], builder.mul(tap, long(16)))
        first, others, end = (
            builder.load_from(builder.add(at, long(8 * n)), LONG, 8) for n in (0, 1, 2)
        )
        starts = builder.add(builder.mul(args["taps"], long(16)), long(8))
        offsets = builder.add(args["flip"], starts)
        for start, stop, together in ((first, others, 2), (others, end, 1)):
            count = builder.udiv(builder.sub(stop, start), long(together))

            def some(done: Any, start: Any = start, together: int = together) -> None:
                number = builder.mul(builder.add(start, done), long(self.vectors))
                for j in range(self.vectors):
                    words = [
                        builder.add(number, long(j + n * self.vectors)) for n in range(together)
                    ]
                    self._listed(rows, j, words, offsets, first_word)

            self._each(count, together, some)

    def _listed(
        self, rows: Sequence[Any], j: int, words: Sequence[Any], offsets: Any, first_word: Any
    ) -> None:
        """Add the words with these numbers to the sums of a vector of columns."""
        builder, scheme = self.builder, self.scheme
        vector_bytes = self.lanes * scheme.word_bytes
        at, weights = [], []
        for word in words:
            place = builder.add(offsets, builder.mul(word, long(4)))
            at.append(builder.sext(builder.load_from(place, WORD, 4), LONG))
            packed = builder.add(first_word, builder.mul(word, long(vector_bytes)))
            weights.append(scheme.weights(builder, packed, self.lanes))
        for m, row in enumerate(rows):
            operands = []
            for offset, w in zip(at, weights, strict=True):
                x = self.word_behind(row, offset)
                operands += [scheme.broadcast(builder, x, None, self.lanes), w]
            operands += [self.flip] * (len(words) > 1)
            slot = self.sums[0][m][j]
            builder.store(scheme.step(builder, builder.load(slot), *operands), slot)

    def _total(self, m: int, j: int) -> Any:
        """The partial sums of one output vector together."""
        builder = self.builder
        add = builder.fadd if self.scheme.accumulator is FLOAT else builder.add
        total = builder.load(self.sums[0][m][j])
        for c in range(1, self.chains):
            total = add(total, builder.load(self.sums[c][m][j]))
        if m < self.paired:
            a, b = (builder.load(slot) for slot in self.blocks[m // 2][2 * j : 2 * j + 2])
            row = 2 * (m % 2)
            total = add(total, builder.pick_of_two(a, b, [row, row + 1, row + 4, row + 5]))
        return add(total, builder.load(self.totals[m][j])) if self.in_blocks else total
