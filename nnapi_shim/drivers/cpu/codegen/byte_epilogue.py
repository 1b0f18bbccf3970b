"""The epilogue of a micro-kernel of bytes: requantization, and an ADD of bytes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from llvmlite import ir

from nnapi_shim.drivers.cpu.codegen.floored import ROUNDS_DOWN, floored_bytes, is_marked
from nnapi_shim.drivers.cpu.codegen.fused_add import AdditionConstants, added
from nnapi_shim.drivers.cpu.codegen.requantization import (
    HAS_ROUNDING_PRODUCTS,
    ByteOutput,
    ColumnConstants,
    high_products,
    minimum_confidence,
    needs_exact,
    requantize_exact,
    requantize_row,
    to_bytes,
)
from nnapi_shim.drivers.cpu.codegen.tile_outputs import TileOutputs
from nnapi_shim.drivers.cpu.codegen.vector import BIT, BYTE, LONG, WORD, long, vector

BYTE_VECTORS = 4
"""Vectors of sums that become one of bytes."""


class _Constants(NamedTuple):
    """Of the requantization of a product."""

    columns: ColumnConstants
    last: ByteOutput


class ByteEpilogue(TileOutputs):
    """Finishes sums of products of bytes."""

    def _store_quantized(self, totals: Sequence[Sequence[Any]]) -> None:
        """Finish int32 sums, as bytes."""
        totals, products = self._corrected(totals), None
        if self.adds:
            width = self.vectors * self.lanes
            products_type = ir.ArrayType(vector(BYTE, width), self.rows)
            products = self.builder.ptrtoint(self.builder.variable(products_type), LONG)
        if HAS_ROUNDING_PRODUCTS:
            self._store_rounded(totals, products)
        elif ROUNDS_DOWN and not self.adds and self.tiling.floors(self.rows):
            is_floored = is_marked(self.builder, self._constants().columns)
            with self.builder.if_else(is_floored, likely=True) as (then, otherwise):
                with then:
                    self._store_floored(totals)
                with otherwise:
                    self._store_bytes(totals, None)
        else:
            self._store_bytes(totals, products)
        if self.adds:
            self._add_bytes(products)

    def _store_rounded(self, totals: Sequence[Sequence[Any]], products: Any) -> None:
        """Requantize with instructions that round as the reference, and store. products: as of
        _store_bytes.
        """
        builder = self.builder
        constants = self._constants()
        totals = high_products(builder, totals, constants.columns)
        values: list[Any] = []
        for rows in self._together():
            values += self._as_bytes([totals[m] for m in rows], constants)[0]
        if products is not None:
            for m, value in enumerate(values):
                builder.store_to(value, self._product_row(products, long(m)), 1)
            return
        with builder.if_else(self._is_whole()) as (then, otherwise):
            with then:
                self._store_whole(values)
            with otherwise:
                for m, value in enumerate(values):
                    self._store_row(value, self._row_number(m))

    def _store_floored(self, totals: Sequence[Sequence[Any]]) -> None:
        """Requantize by rounding down, and store."""
        builder, constants = self.builder, self._constants()
        width = self.vectors * self.lanes
        with builder.if_else(self._has_all_columns(), likely=True) as (then, otherwise):
            for branch, is_whole in ((then, True), (otherwise, False)):
                with branch:
                    address = self.args["output"]
                    for rows in self._together():
                        sums = [totals[m] for m in rows]
                        value = floored_bytes(builder, sums, *constants)
                        for m in rows:
                            first = width * (m - rows[0])
                            part = builder.pick(value, range(first, first + width))
                            if is_whole:
                                if m:
                                    address = builder.add(address, self._step_to(long(m)))
                                builder.store_to(part, address, 1)
                            else:
                                self._store_row(part, self._row_number(m))

    def _store_bytes(self, totals: Sequence[Sequence[Any]], products: Any) -> None:
        """Requantize and store as many rows at a time as fill a vector of bytes; row by row those
        in which a lane needs exact recomputation, and all if a column is not valid. Only the sums
        of such rows go to memory.

        products: where int8 rows go that something is added to, one behind the other; None: the
        rows are outputs.
        """
        builder, lanes = self.builder, self.lanes
        kind = ir.ArrayType(self.sum_type, self.rows * self.vectors)
        spilled = builder.ptrtoint(builder.variable(kind), LONG)
        left = builder.variable(LONG, long(0))

        def leave(rows: range) -> None:
            for m in rows:
                for j, total in enumerate(totals[m]):
                    at = 4 * lanes * (m * self.vectors + j)
                    builder.store_to(total, builder.add(spilled, long(at)), 4)
            marks = long(sum(1 << m for m in rows))
            builder.store(builder.or_(builder.load(left), marks), left)

        with builder.if_else(self._has_all_columns(), likely=True) as (then, otherwise):
            with then:
                self._store_groups(totals, leave, products)
            with otherwise:
                leave(range(self.rows))

        with self._each_marked(builder.load(left)) as m:
            row_bytes = 4 * self.vectors * lanes
            value = self._requantized_row(builder.add(spilled, builder.mul(m, long(row_bytes))))
            if products is None:
                self._store_row(value, m)
            else:
                builder.store_to(value, self._product_row(products, m), 1)

    @contextmanager
    def _each_marked(self, marks: Any) -> Iterator[Any]:
        """A loop over the valid rows whose bits are set, which is unlikely."""
        builder = self.builder
        with (
            builder.if_then(builder.icmp_signed("!=", marks, long(0)), likely=False),
            builder.each(self.args["rows"]) as m,
            builder.if_then(builder.trunc(builder.lshr(marks, m), BIT)),
        ):
            yield m

    def _product_row(self, products: Any, m: Any) -> Any:
        """The address of a row of int8 that something is added to."""
        return self._row(products, m, long(self.vectors * self.lanes))

    def _together(self) -> list[range]:
        """The rows in groups that fill a vector of bytes; the last one may have fewer."""
        together = max(1, BYTE_VECTORS // self.vectors)
        return [
            range(first, min(first + together, self.rows))
            for first in range(0, self.rows, together)
        ]

    def _as_bytes(
        self, rows: Sequence[Sequence[Any]], constants: _Constants
    ) -> tuple[list[Any], Any]:
        """Rows of sums that fill a vector of bytes: the bytes of each row, and the confidence."""
        builder = self.builder
        steps, confidence = list[Any](), None
        for sums in rows:
            row_steps, row_confidence = requantize_row(builder, sums, constants.columns)
            confidence = minimum_confidence(builder, confidence, row_confidence)
            steps += row_steps
        value = to_bytes(builder, steps, constants.last)
        if len(rows) == 1:
            return [value], confidence
        width = self.vectors * self.lanes
        firsts = range(0, width * len(rows), width)
        parts = [builder.pick(value, range(first, first + width)) for first in firsts]
        return parts, confidence

    def _store_groups(
        self, totals: Sequence[Sequence[Any]], leave: Callable[[range], None], products: Any
    ) -> None:
        """Store all columns of a tile from registers, and leave the rows that need exact
        recomputation.

        Each group of rows has a block of its own: the compiler would begin all groups before it
        ends one, for which there are no registers.
        """
        builder, constants = self.builder, self._constants()
        address = self.args["output"]
        for rows in self._together():
            values, confidence = self._as_bytes([totals[m] for m in rows], constants)
            for m, value in zip(rows, values, strict=True):
                if products is not None:
                    builder.store_to(value, self._product_row(products, long(m)), 1)
                    continue
                if m:
                    address = builder.add(address, self._step_to(long(m)))
                builder.store_to(value, address, 1)
            with builder.if_then(needs_exact(builder, confidence), likely=False):
                leave(rows)

    def _step_to(self, m: Any) -> Any:
        """Bytes to output row m from the one before it: 0 if it only repeats it."""
        builder, args = self.builder, self.args
        is_valid = builder.icmp_signed("<", m, args["rows"])
        return builder.select(is_valid, args["output_stride"], long(0))

    def _requantized_row(self, address: Any) -> Any:
        """The bytes of a row of sums in memory; recomputed exactly if a lane needs it."""
        builder, constants = self.builder, self._constants()
        [value], confidence = self._as_bytes([self._loaded(address)], constants)
        result = builder.variable(value.type, value)
        with builder.if_then(needs_exact(builder, confidence), likely=False):
            requantize_exact(builder, address, self.vectors, *constants, self.sum_type)
            builder.store(to_bytes(builder, self._loaded(address), constants.last), result)
        return builder.load(result)

    def _add_bytes(self, products: Any) -> None:
        """Add to rows of int8, and store the sums: as many rows at a time as fill a vector of
        bytes; row by row if a column is not valid.
        """
        builder, args = self.builder, self.args
        constants = AdditionConstants(builder, args["addition"], self.lanes)
        flip = builder.trunc(args["output_flip"], BYTE)
        width = self.vectors * self.lanes
        with builder.if_else(self._has_all_columns(), likely=True) as (then, otherwise):
            with then:
                self._add_groups(products, constants, flip)
            with otherwise, builder.each(args["rows"]) as m:
                own = builder.load_from(self._product_row(products, m), vector(BYTE, width), 1)
                address = self._row(args["addend"], m, args["addend_stride"])
                stored = self._load_partial(builder, address, args["columns"], width)
                other = builder.xor(stored, builder.splat(flip, width))
                first, second = constants.in_order(builder, own, other)
                self._store_row(self._sums(first, second, constants), m)

    def _add_groups(self, products: Any, constants: AdditionConstants, flip: Any) -> None:
        """Add to all columns of a tile, and store them. It is a loop over rows, whose constants
        stay in registers.
        """
        builder, args = self.builder, self.args
        count = len(self._together()[0])
        width = self.vectors * self.lanes
        kind = vector(BYTE, width)
        starts = constants.in_order(builder, products, args["addend"])
        steps = constants.in_order(builder, long(width), args["addend_stride"])
        flips = constants.in_order(builder, BYTE(0), flip)
        names = "first", "second", "output"
        strides = dict(zip(names, (*steps, args["output_stride"]), strict=True))
        start = dict(zip(names, (*starts, args["output"]), strict=True)) | {"number": long(0)}
        slots = {name: builder.variable(LONG, value) for name, value in start.items()}
        groups = builder.udiv(builder.add(args["rows"], long(count - 1)), long(count))
        # Of rows that are known here, the compiler would unroll the loop.
        with builder.each(groups):
            at = {name: builder.load(slot) for name, slot in slots.items()}
            rows: dict[str, list[Any]] = {name: [] for name in strides}
            for _ in range(count):
                number = builder.add(at["number"], long(1))
                is_valid = builder.icmp_signed("<", number, args["rows"])
                for name, stride in strides.items():
                    rows[name].append(at[name])
                    at[name] = builder.add(at[name], builder.select(is_valid, stride, long(0)))
                at["number"] = number
            inputs = []
            for name, mask in zip(("first", "second"), flips, strict=True):
                stored = builder.join([builder.load_from(row, kind, 1) for row in rows[name]])
                inputs.append(builder.xor(stored, builder.splat(mask, stored.type.count)))
            value = self._sums(inputs[0], inputs[1], constants)
            for m, address in enumerate(rows["output"]):
                part = builder.pick(value, range(m * width, (m + 1) * width))
                builder.store_to(part, address, 1)
            for name, slot in slots.items():
                builder.store(at[name], slot)

    def _sums(self, first: Any, second: Any, constants: AdditionConstants) -> Any:
        """The bytes of the sums of int8."""
        sums = added(self.builder, first, second, constants, self.lanes)
        low, high = constants.limits
        return to_bytes(self.builder, sums, ByteOutput(None, low, high, self.args["output_flip"]))

    def _constants(self) -> _Constants:
        """The constants of the requantization, loaded from memory. Rows that something is added to
        are int8.
        """
        builder, args = self.builder, self.args
        width = self.vectors * self.lanes
        table = builder.add(args["panel"], long(4 * width))
        columns = ColumnConstants(builder, table, long(width), long(0), self.vectors, self.lanes)
        flip = long(0) if self.adds else args["output_flip"]
        return _Constants(columns, ByteOutput(args["zero_point"], self.low, self.high, flip))

    def _loaded(self, address: Any) -> list[Any]:
        """The sums of a row from memory."""
        builder, size = self.builder, 4 * self.lanes
        addresses = [builder.add(address, long(size * j)) for j in range(self.vectors)]
        return [builder.load_from(at, self.sum_type, 4) for at in addresses]

    def _corrected(self, totals: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Sums plus the correction of their row, if there is one."""
        builder, kind = self.builder, self.sum_type
        slots = [[builder.variable(kind, total) for total in row] for row in totals]
        args = self.args["correction"]
        with builder.if_then(builder.icmp_signed("!=", args, long(0)), likely=False):
            for m, row in enumerate(slots):
                address = builder.add(args, builder.mul(self._row_number(m), long(4)))
                correction = builder.splat(builder.load_from(address, WORD, 4), self.lanes)
                for slot in row:
                    builder.store(builder.add(builder.load(slot), correction), slot)
        return [[builder.load(slot) for slot in row] for row in slots]

    def _store_row(self, value: Any, row: Any) -> None:
        """Store the valid columns of a row."""
        builder, args = self.builder, self.args
        whole = builder.icmp_signed(">=", args["columns"], long(self.vectors * self.lanes))
        target = builder.add(args["output"], builder.mul(row, args["output_stride"]))
        with builder.if_else(whole) as (then, otherwise):
            with then:
                builder.store_to(value, target, 1)
            with otherwise:
                self._store_partial(value, target, 1, args["columns"])
