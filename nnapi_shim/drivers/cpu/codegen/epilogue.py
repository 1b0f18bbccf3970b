"""The epilogue of a micro-kernel: sums become outputs, and the valid rows and columns are stored.

Rows past the last repeat it: they store the same values again. An addend of the same size may be
added first, see lowering/fused_add.py.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from nnapi_shim.drivers.cpu.codegen.bounds import within
from nnapi_shim.drivers.cpu.codegen.fused_add import (
    AdditionConstants,
    added,
    added_exactly,
    number_of_block,
)
from nnapi_shim.drivers.cpu.codegen.isa import ISA
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
    constant,
    long,
    vector,
)
from nnapi_shim.drivers.cpu.isa.tier import Tiling

LINE = 64
"""Bytes of a cache line."""

BYTE_VECTORS = 4
"""Vectors of sums that become one of bytes."""

CONSTANTS, USED = 3, 10
"""Registers of the requantization: for each vector of columns, and for all of them."""


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

    def _store_bytes(self, totals: Sequence[Sequence[Any]]) -> None:
        """Requantize and store as many rows at a time as fill a vector of bytes; row by row if a
        column is not valid, or a lane needs exact recomputation.

        The sums of a tile stay in registers if there are enough of them.
        """
        builder, lanes = self.builder, self.lanes
        spilled_type = ir.ArrayType(self.sum_type, self.rows * self.vectors)
        spilled = builder.ptrtoint(builder.variable(spilled_type), LONG)
        by_rows = builder.variable(BIT, BIT(1))

        def spill() -> None:
            for at, total in enumerate(total for row in totals for total in row):
                builder.store_to(total, builder.add(spilled, long(4 * lanes * at)), 4)

        keeps_registers = (
            not self.adds and self.vectors * (self.rows + CONSTANTS) + USED <= ISA.tier.registers
        )
        if not keeps_registers:
            spill()
        with builder.if_then(self._has_all_columns(), likely=True):
            confidence = self._store_added(spilled) if self.adds else self._store_all(totals)
            builder.store(needs_exact(builder, confidence), by_rows)
        with builder.if_then(builder.load(by_rows), likely=False):
            if keeps_registers:
                spill()
            self._store_by_rows(spilled)

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

    def _store_all(self, totals: Sequence[Sequence[Any]]) -> Any:
        """Store all columns of a tile from registers; its confidence."""
        builder, args = self.builder, self.args
        constants, confidence, values = self._constants(), None, list[Any]()
        for rows in self._together():
            some, own = self._as_bytes([totals[m] for m in rows], constants, None)
            confidence = minimum_confidence(builder, confidence, own)
            values += some
        address = args["output"]
        for m, value in enumerate(values):
            if m:
                address = builder.add(address, self._step_to(long(m), "output_stride"))
            builder.store_to(value, address, 1)
        return confidence

    def _step_to(self, m: Any, stride: str) -> Any:
        """Bytes to row m from the one before it: 0 if it only repeats it."""
        builder, args = self.builder, self.args
        is_valid = builder.icmp_signed("<", m, args["rows"])
        return builder.select(is_valid, args[stride], long(0))

    def _store_added(self, spilled: Any) -> Any:
        """Add to all columns of a tile of sums in memory, and store them; its confidence. A loop
        over rows: in straight code, the compiler begins all before it ends one, and spills what it
        began.
        """
        builder, args = self.builder, self.args
        constants, groups = self._constants(), self._together()
        kind = vector(BYTE, self.vectors * self.lanes)
        sum_bytes = long(4 * self.vectors * self.lanes)
        first = {
            "number": long(0),
            "sums": spilled,
            "addend": args["addend"],
            "output": args["output"],
        }
        slots = {name: builder.variable(LONG, value) for name, value in first.items()}
        confidence = builder.variable(self.sum_type, constant(self.sum_type, -1))  # the highest

        def add(count: int) -> None:
            at = {name: builder.load(slot) for name, slot in slots.items()}
            rows, addends, outputs = list[Any](), list[Any](), list[Any]()
            for _ in range(count):
                rows.append(self._loaded(at["sums"]))
                stored = builder.load_from(at["addend"], kind, 1)
                addends.append(self._as_int8(stored, constants))
                outputs.append(at["output"])
                number = builder.add(at["number"], long(1))
                steps = {
                    "number": long(1),
                    "sums": sum_bytes,
                    "addend": self._step_to(number, "addend_stride"),
                    "output": self._step_to(number, "output_stride"),
                }
                at = {name: builder.add(at[name], step) for name, step in steps.items()}
            values, own = self._as_bytes(rows, constants, addends)
            for value, address in zip(values, outputs, strict=True):
                builder.store_to(value, address, 1)
            own = minimum_confidence(builder, builder.load(confidence), own)
            builder.store(own, confidence)
            for name, slot in slots.items():
                builder.store(at[name], slot)

        count, last = len(groups[0]), len(groups[-1])
        whole_rows = long(self.rows // count * count)
        rows = builder.select(
            builder.icmp_signed("<", args["rows"], whole_rows), args["rows"], whole_rows
        )
        # Of rows that are known here, the compiler would unroll the loop.
        with builder.each(builder.udiv(builder.add(rows, long(count - 1)), long(count))):
            add(count)
        if last < count:
            add(last)
        return builder.load(confidence)

    def _store_by_rows(self, spilled: Any) -> None:
        """Store the valid columns of the valid rows, from sums in memory. What needs it is
        recomputed exactly.
        """
        builder, args = self.builder, self.args
        constants = self._constants()  # loaded again, to keep registers free until here
        row_bytes = 4 * self.vectors * self.lanes
        with builder.each(args["rows"]) as m:
            address = builder.add(spilled, builder.mul(m, long(row_bytes)))
            addends = [self._addends(m, constants)] if self.adds else None
            [value], confidence = self._as_bytes([self._loaded(address)], constants, addends)
            result = builder.variable(value.type, value)
            with builder.if_then(needs_exact(builder, confidence), likely=False):
                columns, last, addition = constants
                requantize_exact(builder, address, self.vectors, columns, last, self.sum_type)
                if addition is not None:
                    row = self._row(args["addend"], m, args["addend_stride"])
                    flip = builder.trunc(last.flip, BYTE)
                    block = [row, args["addition"], *addition.own, flip]
                    added_exactly(
                        builder, address, args["columns"], self._load_partial, block, self.lanes
                    )
                builder.store(to_bytes(builder, self._loaded(address), last), result)
            self._store_row(builder.load(result), m)

    def _constants(self) -> _Constants:
        """The constants of the requantization, loaded from memory."""
        builder, args, lanes = self.builder, self.args, self.lanes
        width = self.vectors * lanes
        table = builder.add(args["panel"], long(4 * width))
        columns = ColumnConstants(builder, table, long(width), long(0), self.vectors, lanes)
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
            steps, sum_confidence = added(builder, steps, addends, constants.addition)
            confidence = minimum_confidence(builder, confidence, sum_confidence)
        return steps, confidence

    def _loaded(self, address: Any) -> list[Any]:
        """The sums of a row from memory."""
        builder, size = self.builder, 4 * self.lanes
        addresses = [builder.add(address, long(size * j)) for j in range(self.vectors)]
        return [builder.load_from(at, self.sum_type, 4) for at in addresses]

    def _addends(self, m: Any, constants: _Constants) -> Any:
        """The addends of a row, as int8."""
        return self._as_int8(self._partial_addends(m), constants)

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
