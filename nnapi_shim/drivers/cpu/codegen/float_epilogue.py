"""The epilogue of a micro-kernel of float32."""

from collections.abc import Sequence
from typing import Any

from nnapi_shim.drivers.cpu.codegen.bounds import within
from nnapi_shim.drivers.cpu.codegen.fused_add import number_of_block
from nnapi_shim.drivers.cpu.codegen.tile_outputs import TileOutputs
from nnapi_shim.drivers.cpu.codegen.vector import FLOAT, long, vector


class FloatEpilogue(TileOutputs):
    """Finishes sums of float32."""

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
                builder.store(number_of_block(builder, args["addition"], name), bound)
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
