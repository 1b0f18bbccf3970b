"""The products of a micro-kernel: words of the input rows by packed weights, added to the sums."""

from collections.abc import Sequence
from typing import Any

from nnapi_shim.drivers.cpu.codegen.epilogue import Epilogue
from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, LONG, POINTER, WORD, long, vector


class Products(Epilogue):
    """What a micro-kernel does with words.

    chains: partial sums. sums: slots, by chain, row and vector of columns. paired: rows whose whole
    vectors of words are multiplied two by two; blocks: the slots of their sums, by pair of rows and
    half a vector of columns. flip: the mask of the scheme.
    """

    chains: int
    paired: int
    sums: list[list[list[Any]]]
    blocks: list[list[Any]]
    flip: Any

    def _row_vectors(self, rows: Sequence[Any], weights: Any, row_bytes: int) -> None:
        """All words of a tap: those beside whole vectors first, so that no address is needed after
        the loop over vectors, which moves them on. weights: the slot of their address.
        """
        builder, count = self.builder, self.tiling.words
        slots = [builder.variable(LONG, row) for row in rows]
        depth = self.args["depth"]

        whole, rest = (divide(depth, long(count)) for divide in (builder.udiv, builder.urem))
        packed = builder.load(weights)
        with builder.if_then(builder.icmp_signed("!=", rest, long(0))):
            with builder.each(rest) as word:
                own = builder.add(packed, builder.mul(word, long(row_bytes)))
                self._word(rows, builder.mul(word, long(4)), own, 0)
            with builder.if_then(builder.icmp_signed("!=", whole, long(0))):
                for slot, row in zip(slots, rows, strict=True):
                    builder.store(builder.add(row, builder.mul(rest, long(4))), slot)
        builder.store(builder.add(packed, builder.mul(rest, long(row_bytes))), weights)
        with builder.each(whole):
            at, packed = [builder.load(slot) for slot in slots], builder.load(weights)
            self._vector_words(at, long(0), packed, row_bytes)
            for slot, address in zip(slots, at, strict=True):
                builder.store(builder.add(address, long(4 * count)), slot)
            builder.store(builder.add(packed, long(count * row_bytes)), weights)

    def _weights(self, packed: Any) -> list[Any]:
        """The packed words of all columns at an address."""
        builder, scheme = self.builder, self.scheme
        vector_bytes = self.lanes * scheme.word_bytes
        return [
            scheme.weights(builder, builder.add(packed, long(j * vector_bytes)), width)
            for j, width in enumerate(self.widths)
        ]

    def _vector_words(self, rows: Sequence[Any], offset: Any, packed: Any, row_bytes: int) -> None:
        """As _word for all words of a vector of each row, which are multiplied lane by lane."""
        builder, scheme, count = self.builder, self.scheme, self.tiling.words
        kind = vector(WORD, count)
        loaded = [builder.load_from(builder.add(row, offset), kind, 1) for row in rows]
        words = [scheme.words(builder, value, self.flip) for value in loaded]
        weights = []
        for c in range(count):
            weights.append(self._weights(builder.add(packed, long(c * row_bytes))))
            for m in range(self.paired, self.rows):
                for slot, w in zip(self.sums[c % self.chains][m], weights[c], strict=True):
                    total = scheme.step_by_lane(builder, builder.load(slot), words[m], c, w)
                    builder.store(total, slot)
            if self.paired and c % 2:
                self._block_products(words, c // 2, weights[c - 1 :])

    def _block_products(self, words: Sequence[Any], half: int, weights: Sequence[Any]) -> None:
        """Add the products of two words of the paired rows: of the first or second half of their
        vectors. weights: of both words.

        A block is two rows by two columns; both operands are its eight bytes of each.
        """
        builder, kind = self.builder, vector(BYTE, 16)
        columns = []
        for first, second in zip(*weights, strict=True):
            for part in (0, 2):
                order = [part, 4 + part, part + 1, 5 + part]
                a, b = (builder.bitcast(value, vector(WORD, 4)) for value in (first, second))
                columns.append(builder.bitcast(builder.pick_of_two(a, b, order), kind))
        order = [2 * half, 2 * half + 1, 4 + 2 * half, 5 + 2 * half]
        for m, slots in zip(range(0, self.paired, 2), self.blocks, strict=True):
            rows = builder.bitcast(builder.pick_of_two(words[m], words[m + 1], order), kind)
            for slot, column in zip(slots, columns, strict=True):
                total = ISA.block_product(builder, builder.load(slot), rows, column)
                builder.store(total, slot)

    def word_behind(self, row: Any, offset: Any) -> Any:
        """The word `offset` bytes behind the start of a row.

        In a loop the offset alone may move on: LLVM takes both as one operand of a load, but the
        sum of two integers as a number of its own, one for each row.
        """
        start = self.builder.inttoptr(row, POINTER)
        word = self.builder.load(self.builder.gep(start, [offset], source_etype=BYTE), typ=WORD)
        word.align = 1
        return word

    def _word(self, rows: Sequence[Any], offset: Any, packed: Any, chain: int) -> None:
        """Add the products of the word at an offset of each row and the packed words."""
        builder, scheme = self.builder, self.scheme
        weights = self._weights(packed)
        for m, row in enumerate(rows):
            xs = {}
            for width in sorted(set(self.widths)):
                value = self.word_behind(row, offset)
                xs[width] = scheme.broadcast(builder, value, self.flip, width)
                # The same address, which the compiler does not see: from a word that it has
                # it makes the other vector by an instruction more, which takes longer.
                row = builder.add(row, self.args["zero_point"])
            for slot, width, w in zip(self.sums[chain][m], self.widths, weights, strict=True):
                total = scheme.step(builder, builder.load(slot), xs[width], w)
                builder.store(total, slot)
