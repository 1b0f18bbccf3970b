"""Writes an object file of epilogues with an ADD of bytes, for tier neon and tiles of so many rows
and vectors; for the first tile, with mistakes, too. Prints the names of the mistakes.

    python -m tests.arm.emit_sums FILE ROWSxVECTORS ...

with NNAPI_SHIM_BUILD_TIER=neon and NNAPI_SHIM_BUILD_MACHINE=aarch64 in its environment.

A function is called sums_MISTAKE_ROWSxVECTORS; the one without is sums_correct_ROWSxVECTORS.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import llvmlite.binding as llvm
from llvmlite import ir

from nnapi_shim.drivers.cpu.codegen import byte_epilogue, epilogue, fused_add
from nnapi_shim.drivers.cpu.codegen.fused_add import AdditionConstants
from nnapi_shim.drivers.cpu.codegen.gemm_microkernel import ADDEND_ARGUMENTS, ARGUMENTS
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.mac_schemes import pairs16
from nnapi_shim.drivers.cpu.codegen.vector import (
    FLOAT,
    LONG,
    VOID,
    WORD,
    Builder,
    constant,
    long,
    vector,
)
from nnapi_shim.drivers.cpu.toolchain.target import target
from tests.arm.test_requantization import TRIPLE

NAMES = ARGUMENTS + ADDEND_ARGUMENTS


def constants(change: Callable[[Builder, AdditionConstants], None]) -> Any:
    """A patch that changes the constants in registers."""

    class Changed(AdditionConstants):
        def __init__(self, builder: Builder, *args: Any) -> None:
            super().__init__(builder, *args)
            change(builder, self)

    return patch.object(byte_epilogue, "AdditionConstants", Changed)


def without_limits(builder: Builder, own: AdditionConstants) -> None:
    own.limits = [FLOAT(bound) for bound in (-128, 127)]


def exchanged(builder: Builder, own: AdditionConstants) -> None:
    own.is_second = builder.not_(own.is_second)


def without(number: int) -> Any:
    """A patch that takes one of the scales, or the offset, as 0."""

    def zero(builder: Builder, own: AdditionConstants) -> None:
        own.scales[number] = constant(own.scales[number].type, 0.0)

    return constants(zero)


class Truncating(type(ISA)):  # type: ignore[misc]
    """Numbers are rounded toward zero."""

    def rounded(self, builder: Any, value: Any) -> Any:
        return builder.fptosi(value, vector(WORD, value.type.count))


def without_product_bounds(own: byte_epilogue.ByteEpilogue) -> Any:
    """The constants of a product that may be any int8."""
    columns, last = constants_of(own)
    return byte_epilogue._Constants(columns, last._replace(low=FLOAT(-128), high=FLOAT(127)))


constants_of = byte_epilogue.ByteEpilogue._constants

MISTAKES = {
    "limits": constants(without_limits),
    "exchanged": constants(exchanged),
    "scale0": without(0),
    "scale1": without(1),
    "offset": without(2),
    "truncated": patch.object(fused_add, "ISA", Truncating(target())),
    "bounds": patch.object(byte_epilogue.ByteEpilogue, "_constants", without_product_bounds),
}


class Sums(epilogue.Epilogue):
    """The epilogue of sums in memory: int32[rows, columns], where a micro-kernel has its table."""

    def write(self) -> None:
        builder, size = self.builder, 4 * self.lanes
        addresses = [
            [
                builder.add(self.args["table"], long(size * (m * self.vectors + j)))
                for j in range(self.vectors)
            ]
            for m in range(self.rows)
        ]
        self.store([[builder.load_from(at, self.sum_type, 4) for at in row] for row in addresses])
        builder.ret_void()


@contextmanager
def nothing() -> Iterator[None]:
    """As it is."""
    yield


def main(path: Path, shapes: Sequence[str]) -> None:
    """Emit everything."""
    module = ir.Module("sums")
    module.triple = TRIPLE
    kind = ir.FunctionType(VOID, [LONG] * len(NAMES) + [FLOAT] * 2)
    for name, change in {"correct": nothing(), **MISTAKES}.items():
        with change:
            for shape in shapes[:1] if name in MISTAKES else shapes:
                rows, vectors = map(int, shape.split("x"))
                function = ir.Function(module, kind, f"sums_{name}_{shape}")
                Sums(function, NAMES, TILING, pairs16(), rows, vectors, adds=True).write()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
        features=target().features, reloc="pic"
    )
    path.write_bytes(machine.emit_object(llvm.parse_assembly(str(module))))
    print(*MISTAKES)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
