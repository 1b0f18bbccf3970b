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

from nnapi_shim.drivers.cpu.codegen import epilogue, fused_add, requantization
from nnapi_shim.drivers.cpu.codegen.fused_add import AdditionConstants
from nnapi_shim.drivers.cpu.codegen.gemm_microkernel import ADDEND_ARGUMENTS, ARGUMENTS
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.mac_schemes import pairs16
from nnapi_shim.drivers.cpu.codegen.vector import (
    FLOAT,
    LONG,
    VOID,
    Builder,
    constant,
    long,
)
from nnapi_shim.drivers.cpu.toolchain.target import target
from tests.arm.test_requantization import TRIPLE, WithoutBorrow

NAMES = ARGUMENTS + ADDEND_ARGUMENTS
WIDE = 2**15 - 1
"""Beyond all results within bounds."""


class WithoutRounding(type(ISA)):  # type: ignore[misc]
    """Bits are shifted out."""

    def requantized(self, builder: Any, total: Any, mantissa: Any, right: Any, **_: Any) -> Any:
        high = self._call("sqrdmulh", builder, total, mantissa)
        return self._call("sshl", builder, high, right)


class AlwaysShifted(type(ISA)):  # type: ignore[misc]
    """Multipliers of 1/2 or more are taken as if they were below."""

    def high_product(self, builder: Any, total: Any, mantissa: Any, right: Any = None) -> Any:
        return super().high_product(builder, total, mantissa)


def constants(change: Callable[[Builder, AdditionConstants, Any], None]) -> Any:
    """A patch that changes the constants in registers; product_zero is its last argument."""

    class Changed(AdditionConstants):
        def __init__(self, builder: Builder, *args: Any) -> None:
            super().__init__(builder, *args)
            change(builder, self, args[3])

    return patch.object(epilogue, "AdditionConstants", Changed)


def without_bounds(builder: Builder, own: AdditionConstants, zero: Any) -> None:
    own.bounds = [constant(own.bounds[0].type, bound) for bound in (-WIDE, WIDE)]


def without_product_zero(builder: Builder, own: AdditionConstants, zero: Any) -> None:
    kind = own.bounds[0].type
    zeros = builder.splat(builder.trunc(zero, kind.element), kind.count)
    own.bounds = [builder.add(bound, zeros) for bound in own.bounds]


def without_other_zero(builder: Builder, own: AdditionConstants, zero: Any) -> None:
    own.other_zero = constant(own.other_zero.type, 0)


def bounds_of_the_product(builder: Builder, own: AdditionConstants, zero: Any) -> None:
    own.limits = [builder.sitofp(bound, FLOAT) for bound in own.own]


def exchanged(builder: Builder, own: AdditionConstants, zero: Any) -> None:
    own.is_fine = builder.not_(own.is_fine)


def with_half_of(number: int) -> Any:
    """A patch that halves a multiplier."""

    def halved(builder: Builder, own: AdditionConstants, zero: Any) -> None:
        exponent = own.multipliers[number][1]
        own.multipliers[number][1] = builder.sub(exponent, constant(exponent.type, 1))

    return constants(halved)


def with_half_of_coarse(builder: Builder, own: AdditionConstants, zero: Any) -> None:
    own.coarse = builder.ashr(own.coarse, constant(own.coarse.type, 1))


MISTAKES = {
    "shift": patch.object(fused_add, "SUM_SHIFT", fused_add.SUM_SHIFT - 1),
    "borrow": patch.object(fused_add, "ISA", WithoutBorrow(target())),
    "rounding": patch.object(fused_add, "ISA", WithoutRounding(target())),
    "bounds": constants(without_bounds),
    "limits": constants(bounds_of_the_product),
    "product_zero": constants(without_product_zero),
    "other_zero": constants(without_other_zero),
    "exchanged": constants(exchanged),
    "fine": with_half_of(0),
    "sum": with_half_of(1),
    "coarse": constants(with_half_of_coarse),
    "unshifted": patch.object(requantization, "ISA", AlwaysShifted(target())),
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
