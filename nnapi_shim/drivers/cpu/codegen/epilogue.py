"""The epilogue of a micro-kernel: sums become outputs, and the valid rows and columns are stored.

Rows past the last repeat it: they store the same values again. An addend of the same size may be
added first, see lowering/fused_add.py.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from llvmlite import ir

from nnapi_shim.drivers.cpu.codegen.bounds import within
from nnapi_shim.drivers.cpu.codegen.fused_add import (
    AdditionConstants,
    added,
    added_exactly,
    number_of_block,
    rounded_sums,
)
from nnapi_shim.drivers.cpu.codegen.mac_schemes import MacScheme
from nnapi_shim.drivers.cpu.codegen.partial_vectors import PartialVectors
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
from nnapi_shim.drivers.cpu.codegen.vector import (
    BIT,
    BYTE,
    FLOAT,
    LONG,
    WORD,
    Builder,
    long,
    vector,
)
from nnapi_shim.drivers.cpu.isa.tier import Tiling

LINE = 64
"""Bytes of a cache line."""

BYTE_VECTORS = 4
"""Vectors of sums that become one of bytes."""


class _Constants(NamedTuple):
    """addition: None where nothing is added."""

    columns: ColumnConstants
    last: ByteOutput
    addition: AdditionConstants | None


class Epilogue(PartialVectors):
    """Finishes the sums of a micro-kernel.

    args: its arguments. low, high: bounds of the outputs. adds: whether there may be an addend of
    floats, or is one of bytes.
    widths: lanes of the vectors of a row; of floats the last may have half as many.
    """

    def __init__(
        self,
        fn: Any,
        names: Sequence[str],
        tiling: Tiling,
        scheme: MacScheme,
        rows: int,
        vectors: int,
        adds: bool,
        half: bool = False,
    ) -> None:
        self.tiling, self.scheme, self.adds = tiling, scheme, adds
        self.rows, self.vectors, self.lanes = rows, vectors, tiling.lanes
        self.builder = Builder(fn.append_basic_block("entry"))
        *words, self.low, self.high = fn.args
        self.args = dict(zip(names, words, strict=True))
        self.is_float = scheme.accumulator is FLOAT
        self.size = 4 if self.is_float else 1
        self.sum_type = vector(scheme.accumulator, self.lanes)
        self.widths = [*[self.lanes] * (vectors - 1), self.lanes // 2 if half else self.lanes]
        self.kinds = [vector(scheme.accumulator, width) for width in self.widths]

    def store(self, totals: Sequence[Sequence[Any]]) -> None:
        """Finish sums, and store the valid rows and columns."""
        if self.scheme.element is WORD:
            self._store_sums(totals)
        else:
            (self._store_floats if self.is_float else self._store_quantized)(totals)

    def _store_sums(self, totals: Sequence[Sequence[Any]]) -> None:
        """Store int32 sums as they are; columns are whole vectors."""
        builder, args = self.builder, self.args
        for m, row in enumerate(totals):
            address = self._row(args["output"], self._row_number(m), args["output_stride"])
            builder.store_to(builder.join(row), address, 4)

    def fetch(self) -> None:
        """Prefetch the addend, so that it is in the cache when the sums are complete."""
        builder, args = self.builder, self.args
        lines = -(-self.vectors * self.lanes * self.size // LINE)
        with builder.if_then(self._is_added(), likely=False):
            row = args["addend"]
            for _ in range(self.rows):
                for line in range(lines):
                    builder.prefetch(builder.add(row, long(LINE * line)))
                row = builder.add(row, args["addend_stride"])

    def _store_floats(self, totals: Sequence[Sequence[Any]]) -> None:
        """Finish float32 sums."""
        builder, args = self.builder, self.args
        if self.adds:
            totals = self._added(totals)
        sums = [total for row in totals for total in row]
        finished = iter(within(builder, sums, self.low, self.high))
        rows = [[next(finished) for _ in row] for row in totals]
        with builder.if_else(self._is_whole()) as (then, otherwise):
            with then:
                self._store_whole([builder.join(values) for values in rows])
            with otherwise:
                addresses = [
                    self._row(args["output"], self._row_number(m), args["output_stride"])
                    for m in range(self.rows)
                ]
                self._store_some(rows, addresses)

    def _store_some(self, rows: Sequence[Sequence[Any]], addresses: Sequence[Any]) -> None:
        """Store the valid columns of rows of floats."""
        builder, columns = self.builder, self.args["columns"]
        whole = builder.icmp_signed(">=", columns, long(sum(self.widths)))
        with builder.if_else(whole) as (then, otherwise):
            with then:
                for address, values in zip(addresses, rows, strict=True):
                    builder.store_to(builder.join(values), address, 4)
            with otherwise:
                before = (self.vectors - 1) * self.lanes
                count = builder.sub(columns, long(before))
                for address, values in zip(addresses, rows, strict=True):
                    if before:
                        builder.store_to(builder.join(values[:-1]), address, 4)
                    rest = builder.add(address, long(before * 4))
                    self._store_partial(values[-1], rest, 4, count)

    def _is_whole(self) -> Any:
        """Whether all rows and columns are valid."""
        builder, args = self.builder, self.args
        rows = builder.icmp_signed(">=", args["rows"], long(self.rows))
        return builder.and_(self._has_all_columns(), rows)

    def _has_all_columns(self) -> Any:
        """Whether all columns are valid."""
        return self.builder.icmp_signed(">=", self.args["columns"], long(sum(self.widths)))

    def _store_whole(self, values: Sequence[Any]) -> None:
        """Store all rows."""
        builder, address = self.builder, self.args["output"]
        for value in values:
            builder.store_to(value, address, self.size)
            address = builder.add(address, self.args["output_stride"])

    def _added(self, totals: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Float32 sums plus the addend, if there is one; the bounds are then those of the addition.

        The whole addend is read before the first store, because the output may overlap it.
        """
        builder, args = self.builder, self.args
        slots = [[builder.variable(total.type, total) for total in row] for row in totals]
        bounds = [builder.variable(FLOAT, bound) for bound in (self.low, self.high)]
        with builder.if_then(self._is_added(), likely=False):
            for m, row in enumerate(slots):
                address = self._row(args["addend"], self._row_number(m), args["addend_stride"])
                for j, slot in enumerate(row):
                    other = self._addend(address, j)
                    [own] = within(builder, [builder.load(slot)], self.low, self.high)
                    builder.store(builder.fadd(own, other), slot)
            for name, bound in zip(("low", "high"), bounds, strict=True):
                builder.store(number_of_block(builder, args["addition"], name, FLOAT), bound)
        self.low, self.high = (builder.load(bound) for bound in bounds)
        return [[builder.load(slot) for slot in row] for row in slots]

    def _addend(self, row: Any, j: int) -> Any:
        """Vector j of a row of the addend, as far as there are columns."""
        before = j * self.lanes
        address = self.builder.add(row, long(before * self.size))
        if j + 1 < self.vectors:
            kind = vector(self.scheme.element, self.lanes)
            return self.builder.load_from(address, kind, self.size)
        rest = self.builder.sub(self.args["columns"], long(before))
        return self._load_partial(self.builder, address, rest, self.widths[j])

    def _row_number(self, m: Any) -> Any:
        """The number of a row, clamped to the last one."""
        builder = self.builder
        number = long(m) if isinstance(m, int) else m
        last = builder.sub(self.args["rows"], long(1))
        return builder.select(builder.icmp_signed("<", number, last), number, last)

    def _row(self, base: Any, number: Any, stride: Any) -> Any:
        """Address of a row."""
        return self.builder.add(base, self.builder.mul(number, stride))

    def _store_quantized(self, totals: Sequence[Sequence[Any]]) -> None:
        """The same from int32 sums to bytes."""
        totals = self._corrected(totals)
        if HAS_ROUNDING_PRODUCTS:
            self._store_rounded(totals)
        elif self.adds:
            width = self.vectors * self.lanes
            products_type = ir.ArrayType(vector(BYTE, width), self.rows)
            products = self.builder.ptrtoint(self.builder.variable(products_type), LONG)
            self._store_bytes(totals, products)
            self._add_bytes(products)
        else:
            self._store_bytes(totals)

    def _store_rounded(self, totals: Sequence[Sequence[Any]]) -> None:
        """Requantize with instructions that round as the reference, and store."""
        builder = self.builder
        constants = self._constants()
        totals = high_products(builder, totals, constants.columns)
        addends = self._all_addends(constants) if self.adds else None
        values: list[Any] = []
        for rows in self._together():
            own = [addends[m] for m in rows] if addends else None
            some, _ = self._as_bytes([totals[m] for m in rows], constants, own)
            values += some
        with builder.if_else(self._is_whole()) as (then, otherwise):
            with then:
                self._store_whole(values)
            with otherwise:
                for m, value in enumerate(values):
                    self._store_row(value, self._row_number(m))

    def _store_bytes(self, totals: Sequence[Sequence[Any]], products: Any = None) -> None:
        """Requantize and store as many rows at a time as fill a vector of bytes; row by row those
        in which a lane needs exact recomputation, and all if a column is not valid. Only the sums
        of such rows go to memory.

        products: where int8 rows go that something is added to, one behind the other; None: the
        rows are outputs.
        """
        builder, lanes = self.builder, self.lanes
        spilled = self._scratch(self.rows)
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

    def _scratch(self, rows: int) -> Any:
        """The address of memory for the sums of rows."""
        kind = ir.ArrayType(self.sum_type, rows * self.vectors)
        return self.builder.ptrtoint(self.builder.variable(kind), LONG)

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
        self, rows: Sequence[Sequence[Any]], constants: _Constants, addends: Any
    ) -> tuple[list[Any], Any]:
        """Rows of sums that fill a vector of bytes: the bytes of each row, and the confidence.
        addends: of each row, if there are any.
        """
        builder = self.builder
        steps, confidence = list[Any](), None
        for number, sums in enumerate(rows):
            own = addends[number] if addends else None
            row_steps, row_confidence = self._requantize_row(sums, constants, own)
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
        builder, constants = self.builder, self._product_constants()
        address = self.args["output"]
        for rows in self._together():
            values, confidence = self._as_bytes([totals[m] for m in rows], constants, None)
            for m, value in zip(rows, values, strict=True):
                if products is not None:
                    builder.store_to(value, self._product_row(products, long(m)), 1)
                    continue
                if m:
                    address = builder.add(address, self._step_to(long(m), "output_stride"))
                builder.store_to(value, address, 1)
            with builder.if_then(needs_exact(builder, confidence), likely=False):
                leave(rows)

    def _step_to(self, m: Any, stride: str) -> Any:
        """Bytes to row m from the one before it: 0 if it only repeats it."""
        builder, args = self.builder, self.args
        is_valid = builder.icmp_signed("<", m, args["rows"])
        return builder.select(is_valid, args[stride], long(0))

    def _requantized_row(self, address: Any) -> Any:
        """The bytes of a row of sums in memory; recomputed exactly if a lane needs it."""
        builder, constants = self.builder, self._product_constants()
        [value], confidence = self._as_bytes([self._loaded(address)], constants, None)
        result = builder.variable(value.type, value)
        with builder.if_then(needs_exact(builder, confidence), likely=False):
            columns, last, _ = constants
            requantize_exact(builder, address, self.vectors, columns, last, self.sum_type)
            builder.store(to_bytes(builder, self._loaded(address), last), result)
        return builder.load(result)

    def _add_bytes(self, products: Any) -> None:
        """Add to rows of int8, and store the sums: as many rows at a time as fill a vector of
        bytes; row by row those in which a lane needs exact recomputation, and all if a column is
        not valid.
        """
        builder = self.builder
        constants = self._constants()
        left = builder.variable(LONG, long(-1))
        with builder.if_then(self._has_all_columns(), likely=True):
            builder.store(self._add_groups(products, constants), left)
        with self._each_marked(builder.load(left)) as m:
            self._add_row(products, m, constants)

    def _add_groups(self, products: Any, constants: _Constants) -> Any:
        """Add to all columns of a tile, and store them; returns the bits of the rows that need
        exact recomputation. It is a loop over rows, whose constants stay in registers.
        """
        builder, args = self.builder, self.args
        count = len(self._together()[0])
        width = self.vectors * self.lanes
        kind = vector(BYTE, width)
        first = {
            "number": long(0),
            "left": long(0),
            "product": products,
            "addend": args["addend"],
            "output": args["output"],
        }
        slots = {name: builder.variable(LONG, value) for name, value in first.items()}
        strides = {
            "product": long(width),
            "addend": args["addend_stride"],
            "output": args["output_stride"],
        }
        groups = builder.udiv(builder.add(args["rows"], long(count - 1)), long(count))
        # Of rows that are known here, the compiler would unroll the loop.
        with builder.each(groups):
            at = {name: builder.load(slot) for name, slot in slots.items()}
            own, others, outputs = list[Any](), list[Any](), list[Any]()
            for _ in range(count):
                own.append(builder.load_from(at["product"], kind, 1))
                others.append(builder.load_from(at["addend"], kind, 1))
                outputs.append(at["output"])
                number = builder.add(at["number"], long(1))
                is_valid = builder.icmp_signed("<", number, args["rows"])
                for name, stride in strides.items():
                    step = builder.select(is_valid, stride, long(0))
                    at[name] = builder.add(at[name], step)
                at["number"] = number
            value, confidence = self._sums(builder.join(own), builder.join(others), constants)
            for m, address in enumerate(outputs):
                part = builder.pick(value, range(m * width, (m + 1) * width))
                builder.store_to(part, address, 1)
            marks = builder.shl(long((1 << count) - 1), builder.load(slots["number"]))
            is_left = needs_exact(builder, confidence)
            marks = builder.select(is_left, marks, long(0))
            at["left"] = builder.or_(at["left"], marks)
            for name, slot in slots.items():
                builder.store(at[name], slot)
        return builder.load(slots["left"])

    def _sums(self, own: Any, stored: Any, constants: _Constants) -> tuple[Any, Any]:
        """The bytes of the sums of int8 and an addend as it is stored, and their confidence."""
        builder, addition = self.builder, constants.addition
        assert addition is not None
        others = self._as_int8(stored, constants)
        steps, confidence = added(builder, own, others, addition, self.lanes)
        return to_bytes(builder, steps, constants.last), confidence

    def _add_row(self, products: Any, m: Any, constants: _Constants) -> None:
        """Add to the valid columns of a row, and store them; exactly if a lane needs it."""
        builder, args, addition = self.builder, self.args, constants.addition
        assert addition is not None
        width = self.vectors * self.lanes
        own = builder.load_from(self._product_row(products, m), vector(BYTE, width), 1)
        value, confidence = self._sums(own, self._partial_addends(m), constants)
        result = builder.variable(value.type, value)
        with builder.if_then(needs_exact(builder, confidence), likely=False):
            scratch = self._scratch(1)
            builder.store_to(builder.sext(own, vector(WORD, width)), scratch, 4)
            row = self._row(args["addend"], m, args["addend_stride"])
            block = [row, args["addition"], *addition.own, builder.trunc(constants.last.flip, BYTE)]
            added_exactly(builder, scratch, args["columns"], self._load_partial, block, self.lanes)
            exact = to_bytes(builder, self._loaded(scratch), constants.last)
            builder.store(exact, result)
        self._store_row(builder.load(result), m)

    def _product_constants(self) -> _Constants:
        """The constants of the requantization of the product, loaded from memory. Rows that
        something is added to are int8.
        """
        flip = long(0) if self.adds else self.args["output_flip"]
        last = ByteOutput(self.args["zero_point"], self.low, self.high, flip)
        return _Constants(self._columns(), last, None)

    def _columns(self) -> ColumnConstants:
        width = self.vectors * self.lanes
        table = self.builder.add(self.args["panel"], long(4 * width))
        return ColumnConstants(self.builder, table, long(width), long(0), self.vectors, self.lanes)

    def _constants(self) -> _Constants:
        """The constants of the requantization, and of the addition, loaded from memory."""
        builder, args, lanes = self.builder, self.args, self.lanes
        columns = self._columns()
        addition, low, high = None, self.low, self.high
        zero_point = args["zero_point"]
        if self.adds:
            ends = (builder.fptosi(x, WORD) for x in (low, high))
            product_zero = builder.trunc(zero_point, WORD) if HAS_ROUNDING_PRODUCTS else WORD(0)
            addition = AdditionConstants(
                builder, args["addition"], next(ends), next(ends), product_zero, lanes
            )
            low, high = addition.limits
            if HAS_ROUNDING_PRODUCTS:
                zero_point = builder.sext(addition.zero_point, LONG)
        last = ByteOutput(zero_point, low, high, args["output_flip"])
        return _Constants(columns, last, addition)

    def _requantize_row(
        self, sums: Sequence[Any], constants: _Constants, addends: Any
    ) -> tuple[list[Any], Any]:
        """The requantized results of a row, plus the addends if there are any, and their
        confidence.
        """
        builder = self.builder
        steps, confidence = requantize_row(builder, sums, constants.columns)
        if constants.addition is not None:
            return rounded_sums(builder, steps, addends, constants.addition), confidence
        return steps, confidence

    def _loaded(self, address: Any) -> list[Any]:
        """The sums of a row from memory."""
        builder, size = self.builder, 4 * self.lanes
        addresses = [builder.add(address, long(size * j)) for j in range(self.vectors)]
        return [builder.load_from(at, self.sum_type, 4) for at in addresses]

    def _partial_addends(self, m: Any) -> Any:
        """The addends of a row as they are stored, as far as there are columns."""
        args = self.args
        address = self._row(args["addend"], self._row_number(m), args["addend_stride"])
        width = self.vectors * self.lanes
        return self._load_partial(self.builder, address, args["columns"], width)

    def _as_int8(self, stored: Any, constants: _Constants) -> Any:
        builder = self.builder
        flip = builder.trunc(constants.last.flip, BYTE)
        return builder.xor(stored, builder.splat(flip, stored.type.count))

    def _all_addends(self, constants: _Constants) -> list[Any]:
        """The addends of all rows, as int8: one check for a whole tile."""
        builder, args = self.builder, self.args
        kind = vector(BYTE, self.vectors * self.lanes)
        slots = [builder.variable(kind) for _ in range(self.rows)]
        with builder.if_else(self._is_whole(), likely=True) as (then, otherwise):
            with then:
                address = args["addend"]
                for slot in slots:
                    builder.store(builder.load_from(address, kind, 1), slot)
                    address = builder.add(address, args["addend_stride"])
            with otherwise:
                for m, slot in enumerate(slots):
                    builder.store(self._partial_addends(m), slot)
        return [self._as_int8(builder.load(slot), constants) for slot in slots]

    def _is_added(self) -> Any:
        return self.builder.icmp_signed("!=", self.args["addend"], long(0))

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
