"""The end of a micro-kernel: sums become outputs, the wanted rows and columns of which are stored.

Rows past the last repeat it: they store the same values again. Something of the same size may be
added first, see lowering/fused_add.py.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils

from nnapi_shim.drivers.cpu.codegen.bounds import within
from nnapi_shim.drivers.cpu.codegen.fused_add import Addition, added, added_exactly, constant
from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.mac_schemes import Arithmetic
from nnapi_shim.drivers.cpu.codegen.requantization import (
    Bytes,
    Columns,
    close,
    exactly,
    is_unsure,
    less_sure,
    to_bytes,
)
from nnapi_shim.drivers.cpu.codegen.vector import (
    BYTE,
    FLOAT,
    LONG,
    POINTER,
    WORD,
    declaration,
    join,
    load,
    long,
    pick,
    splat,
    store,
    variable,
    vector,
)
from nnapi_shim.drivers.cpu.isa.tier import Tiling

LINE = 64
"""Bytes that the caches move at once."""

BYTE_VECTORS = 4
"""Vectors of sums that become one of bytes."""

CONSTANTS, USED = 3, 10
"""Registers that sums become bytes by: for each vector of columns, and for all of them."""


class _Constants(NamedTuple):
    """addition: None where nothing is added."""

    columns: Columns
    last: Bytes
    addition: Addition | None


class Storing:
    """What a micro-kernel does once it has its sums.

    given: its arguments. low, high: bounds of the outputs. adds: whether something may be added.
    widths: lanes of the vectors of a row; of floats the last may have half as many.
    """

    def __init__(
        self,
        fn: Any,
        names: Sequence[str],
        tiling: Tiling,
        arithmetic: Arithmetic,
        rows: int,
        vectors: int,
        adds: bool,
        half: bool = False,
    ) -> None:
        self.tiling, self.arithmetic, self.adds = tiling, arithmetic, adds
        self.rows, self.vectors, self.lanes = rows, vectors, tiling.lanes
        self.builder = ir.IRBuilder(fn.append_basic_block("entry"))
        *words, self.low, self.high = fn.args
        self.given = dict(zip(names, words, strict=True))
        self.is_float = arithmetic.accumulator is FLOAT
        self.size = 4 if self.is_float else 1
        self.sum_type = vector(arithmetic.accumulator, self.lanes)
        self.widths = [*[self.lanes] * (vectors - 1), self.lanes // 2 if half else self.lanes]
        self.kinds = [vector(arithmetic.accumulator, width) for width in self.widths]

    def store(self, totals: Sequence[Sequence[Any]]) -> None:
        """Finish sums, and store what is wanted of them."""
        (self._store_floats if self.is_float else self._store_quantized)(totals)

    def fetch(self) -> None:
        """Ask for what is added, so that it is in the cache when the sums are there."""
        builder, given = self.builder, self.given
        name, lines = "llvm.prefetch.p0", -(-self.vectors * self.lanes * self.size // LINE)
        fetch = declaration(builder.module, name, ir.VoidType(), [ir.PointerType()] + [WORD] * 3)
        with builder.if_then(self._is_added(), likely=False):
            for m in range(self.rows):
                row = self._row(given["addend"], self._number(m), given["addend_stride"])
                for line in range(lines):
                    place = builder.inttoptr(builder.add(row, long(LINE * line)), POINTER)
                    builder.call(fetch, [place, WORD(0), WORD(3), WORD(1)])

    def _store_floats(self, totals: Sequence[Sequence[Any]]) -> None:
        """Finish the sums and store the wanted rows and columns."""
        builder, given = self.builder, self.given
        if self.adds:
            totals = self._added(totals)
        sums = [total for row in totals for total in row]
        finished = iter(within(builder, sums, self.low, self.high))
        rows = []
        for m, row in enumerate(totals):
            address = self._row(given["output"], self._number(m), given["output_stride"])
            rows.append((address, [next(finished) for _ in row]))
        whole = builder.icmp_signed(">=", given["columns"], long(sum(self.widths)))
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

    def _added(self, totals: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Floats plus what is added to them, if there is such a thing; the bounds are then its own.

        All of it is read before anything is written, which may be in the same place.
        """
        builder, given = self.builder, self.given
        slots = [[variable(builder, total.type, total) for total in row] for row in totals]
        bounds = [variable(builder, FLOAT, bound) for bound in (self.low, self.high)]
        with builder.if_then(self._is_added(), likely=False):
            for m, row in enumerate(slots):
                address = self._row(given["addend"], self._number(m), given["addend_stride"])
                for j, slot in enumerate(row):
                    other = self._addend(address, j)
                    [own] = within(builder, [builder.load(slot)], self.low, self.high)
                    builder.store(builder.fadd(own, other), slot)
            for name, bound in zip(("low", "high"), bounds, strict=True):
                builder.store(constant(builder, given["addition"], name, FLOAT), bound)
        self.low, self.high = (builder.load(bound) for bound in bounds)
        return [[builder.load(slot) for slot in row] for row in slots]

    def _addend(self, row: Any, j: int) -> Any:
        """Vector j of a row of what is added, as far as there are columns."""
        before = j * self.lanes
        address = self.builder.add(row, long(before * self.size))
        if j + 1 < self.vectors:
            kind = vector(self.arithmetic.element, self.lanes)
            return load(self.builder, address, kind, self.size)
        rest = self.builder.sub(self.given["columns"], long(before))
        return self._load_some(self.builder, address, rest, self.widths[j])

    def _number(self, m: Any) -> Any:
        """The number of a row; that of the last one for those past it."""
        builder = self.builder
        number = long(m) if isinstance(m, int) else m
        last = builder.sub(self.given["rows"], long(1))
        return builder.select(builder.icmp_signed("<", number, last), number, last)

    def _row(self, base: Any, number: Any, stride: Any) -> Any:
        """Address of a row."""
        return self.builder.add(base, self.builder.mul(number, stride))

    def _store_quantized(self, totals: Sequence[Sequence[Any]]) -> None:
        """The same from int32 sums to bytes."""
        corrected = self._corrected(totals)
        if not self.adds:
            self._store_bytes(corrected, False)
            return
        with self.builder.if_else(self._is_added(), likely=False) as (then, otherwise):
            with then:
                self._store_bytes(corrected, True)
            with otherwise:
                self._store_bytes(corrected, False)

    def _store_bytes(self, totals: Sequence[Sequence[Any]], is_added: bool) -> None:
        """As many rows at a time as fill a vector of bytes; with what is added to them, if so.

        Where one of them needs more than float32, all are looked at once more at the end. Until
        then their sums stay in registers if there are so many, else they go to memory at once.
        """
        builder, lanes = self.builder, self.lanes
        width = self.vectors * lanes
        kept_type = ir.ArrayType(self.sum_type, self.rows * self.vectors)
        kept = builder.ptrtoint(variable(builder, kept_type), LONG)

        def keep(m: int) -> None:
            for j, total in enumerate(totals[m]):
                place = long(4 * (m * width + j * lanes))
                store(builder, total, builder.add(kept, place), 4)

        given = self._constants(is_added)
        stays = not is_added and self.vectors * (self.rows + CONSTANTS) + USED <= ISA.tier.registers
        sure = None
        together = max(1, BYTE_VECTORS // self.vectors)
        for first in range(0, self.rows, together):
            rows = range(first, min(first + together, self.rows))
            steps = []
            for m in rows:
                if not stays:
                    keep(m)
                found, of_row = self._told(m, totals[m], given)
                sure = less_sure(builder, sure, of_row)
                steps += found
            value = to_bytes(builder, steps, given.last)
            for m in rows:
                part = range((m - first) * width, (m - first + 1) * width)
                row = value if len(rows) == 1 else pick(builder, value, part)
                self._store_row(row, self._number(m))
        with builder.if_then(is_unsure(builder, sure), likely=False):
            if stays:
                for m in range(self.rows):
                    keep(m)
            self._look_again(kept, is_added)

    def _look_again(self, kept: Any, is_added: bool) -> None:
        """Store the rows exactly that need it, of sums in memory."""
        builder, given = self.builder, self.given
        constants = self._constants(is_added)  # loaded again: they need no registers meanwhile
        row_bytes = 4 * self.vectors * self.lanes
        with cgutils.for_range(builder, given["rows"]) as loop:
            place = builder.add(kept, builder.mul(loop.index, long(row_bytes)))
            _, sure = self._told(loop.index, self._loaded(place), constants)
            with builder.if_then(is_unsure(builder, sure)):
                columns, last, addition = constants
                exactly(builder, place, self.vectors, columns, last, self.sum_type)
                if addition is not None:
                    row = self._row(given["addend"], loop.index, given["addend_stride"])
                    flip = builder.trunc(last.flip, BYTE)
                    block = [row, given["addition"], *addition.own, flip]
                    added_exactly(
                        builder, place, given["columns"], self._load_some, block, self.lanes
                    )
                value = to_bytes(builder, self._loaded(place), last)
                self._store_row(value, loop.index)

    def _constants(self, is_added: bool) -> _Constants:
        """What sums become bytes by, read from memory."""
        builder, given, lanes = self.builder, self.given, self.lanes
        width = self.vectors * lanes
        table = builder.add(given["panel"], long(4 * width))
        columns = Columns(builder, table, long(width), long(0), self.vectors, lanes)
        addition, low, high = None, self.low, self.high
        if is_added:
            ends = (builder.fptosi(x, WORD) for x in (low, high))
            addition = Addition(builder, given["addition"], next(ends), next(ends), lanes)
            low, high = addition.limits
        last = Bytes(given["zero_point"], low, high, given["output_flip"])
        return _Constants(columns, last, addition)

    def _told(self, m: Any, sums: Sequence[Any], given: _Constants) -> tuple[list[Any], Any]:
        """The results of a row, and how sure they are."""
        builder = self.builder
        found, sure = close(builder, sums, given.columns)
        if given.addition is not None:
            others = self._others(m, builder.trunc(given.last.flip, BYTE))
            found, of_sums = added(builder, found, others, given.addition)
            sure = less_sure(builder, sure, of_sums)
        return found, sure

    def _loaded(self, place: Any) -> list[Any]:
        """The sums of a row from memory."""
        builder, size = self.builder, 4 * self.lanes
        places = [builder.add(place, long(size * j)) for j in range(self.vectors)]
        return [load(builder, at, self.sum_type, 4) for at in places]

    def _others(self, m: Any, flip: Any) -> list[Any]:
        """What is added to a row, as int8."""
        builder, given = self.builder, self.given
        row = self._row(given["addend"], self._number(m), given["addend_stride"])
        flip = splat(builder, flip, self.lanes)
        return [builder.xor(self._addend(row, j), flip) for j in range(self.vectors)]

    def _is_added(self) -> Any:
        return self.builder.icmp_signed("!=", self.given["addend"], long(0))

    def _corrected(self, totals: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Sums plus what is to be added to their rows, if there is such a thing."""
        builder, kind = self.builder, self.sum_type
        slots = [[variable(builder, kind, total) for total in row] for row in totals]
        given = self.given["correction"]
        with builder.if_then(builder.icmp_signed("!=", given, long(0)), likely=False):
            for m, row in enumerate(slots):
                address = builder.add(given, builder.mul(self._number(m), long(4)))
                correction = splat(builder, load(builder, address, WORD, 4), self.lanes)
                for slot in row:
                    builder.store(builder.add(builder.load(slot), correction), slot)
        return [[builder.load(slot) for slot in row] for row in slots]

    def _store_row(self, value: Any, row: Any) -> None:
        """Store the wanted columns of a row."""
        builder, given = self.builder, self.given
        whole = builder.icmp_signed(">=", given["columns"], long(self.vectors * self.lanes))
        target = builder.add(given["output"], builder.mul(row, given["output_stride"]))
        with builder.if_else(whole) as (then, otherwise):
            with then:
                store(builder, value, target, 1)
            with otherwise:
                self._store_some(value, target, 1, given["columns"])

    def _mask(self, builder: Any, count: Any, lanes: int) -> tuple[Any, str]:
        """The first `count` lanes, and how LLVM calls vectors of so many elements."""
        # In the size that makes a mask of the store's lanes without more ado.
        number = LONG if self.is_float else BYTE
        wanted = count if self.is_float else builder.trunc(count, BYTE)
        mask = builder.icmp_signed(
            "<",
            ir.Constant(vector(number, lanes), list(range(lanes))),
            splat(builder, wanted, lanes),
        )
        return mask, f"v{lanes}{'f32' if self.is_float else 'i8'}"

    def _load_some(self, builder: Any, address: Any, count: Any, lanes: int = 0) -> Any:
        """Load the first `count` lanes of a vector of elements; all there are if there are more."""
        lanes = lanes or self.lanes
        kind = vector(self.arithmetic.element, lanes)
        size = self.size
        most = builder.icmp_signed("<", count, long(lanes))
        count = builder.select(most, count, long(lanes))
        if self.tiling.masked:
            mask, name = self._mask(builder, count, lanes)
            masked = declaration(
                builder.module,
                f"llvm.masked.load.{name}.p0",
                kind,
                [ir.PointerType(), WORD, mask.type, kind],
            )
            pointer = builder.inttoptr(address, ir.PointerType())
            zeros = ir.Constant(kind, None)
            return builder.call(masked, [pointer, ir.Constant(WORD, size), mask, zeros])
        found = variable(builder, kind)
        builder.store(ir.Constant(kind, None), found)
        with builder.if_else(most) as (then, otherwise):
            with then:
                scratch = builder.ptrtoint(found, LONG)
                with cgutils.for_range(builder, count) as loop:
                    offset = builder.mul(loop.index, long(size))
                    one = load(builder, builder.add(address, offset), kind.element, size)
                    store(builder, one, builder.add(scratch, offset), size)
            with otherwise:
                builder.store(load(builder, address, kind, size), found)
        return builder.load(found)

    def _store_some(self, value: Any, address: Any, size: int, count: Any) -> None:
        """Store the first `count` lanes."""
        builder, kind = self.builder, value.type
        if self.tiling.masked:
            mask, name = self._mask(builder, count, kind.count)
            masked = declaration(
                builder.module,
                f"llvm.masked.store.{name}.p0",
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
