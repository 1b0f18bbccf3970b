"""The epilogue of a micro-kernel: sums become outputs, and the valid rows and columns are stored.

Rows past the last repeat it: they store the same values again. An addend of the same size may be
added first, see lowering/fused_add.py.
"""

from collections.abc import Sequence
from typing import Any

from nnapi_shim.drivers.cpu.codegen.byte_epilogue import ByteEpilogue
from nnapi_shim.drivers.cpu.codegen.float_epilogue import FloatEpilogue
from nnapi_shim.drivers.cpu.codegen.vector import WORD, long

CACHE_LINE = 64
"""Bytes of a cache line."""


class Epilogue(FloatEpilogue, ByteEpilogue):
    """Finishes the sums of a micro-kernel."""

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
        lines = -(-self.vectors * self.lanes * self.size // CACHE_LINE)
        with builder.if_then(self._is_added(), likely=False):
            row = args["addend"]
            for _ in range(self.rows):
                for line in range(lines):
                    builder.prefetch(builder.add(row, long(CACHE_LINE * line)))
                row = builder.add(row, args["addend_stride"])
