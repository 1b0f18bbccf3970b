"""Where the outputs of a tile lie, and which of them are valid."""

from collections.abc import Sequence
from typing import Any

from nnapi_shim.drivers.cpu.codegen.mac_schemes import MacScheme
from nnapi_shim.drivers.cpu.codegen.partial_vectors import PartialVectors
from nnapi_shim.drivers.cpu.codegen.vector import FLOAT, Builder, long, vector
from nnapi_shim.drivers.cpu.isa.tier import Tiling


class TileOutputs(PartialVectors):
    """The tile of a micro-kernel.

    args: arguments of the micro-kernel. low, high: bounds of the outputs. adds: whether there may
    be an addend of floats, or is one of bytes.
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

    def _row_number(self, m: Any) -> Any:
        """The number of a row, clamped to the last one."""
        builder = self.builder
        number = long(m) if isinstance(m, int) else m
        last = builder.sub(self.args["rows"], long(1))
        return builder.select(builder.icmp_signed("<", number, last), number, last)

    def _row(self, base: Any, number: Any, stride: Any) -> Any:
        """Address of a row."""
        return self.builder.add(base, self.builder.mul(number, stride))

    def _is_added(self) -> Any:
        return self.builder.icmp_signed("!=", self.args["addend"], long(0))
