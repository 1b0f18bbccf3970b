"""The requantization of AArch64, run in an emulator: as the reference's formula, bit by bit."""

import subprocess

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from nnapi_shim.drivers.cpu.codegen.isa.aarch64 import Neon
from nnapi_shim.drivers.cpu.codegen.vector import LONG, WORD, Builder, vector
from nnapi_shim.drivers.cpu.isa import aarch64
from nnapi_shim.drivers.reference.fixed_point import doubling_high_product, rounding_shift
from tests.arm.test_arm import COMPILER, QEMU, SYSROOT, needs_compiler, needs_emulator

TRIPLE = "aarch64-linux-gnu"
MAIN = """
#include <stdint.h>
#include <stdio.h>
void requantize(int64_t in, int64_t out);
int main(void)
{
    int32_t in[16], out[4];
    while (fread(in, sizeof in, 1, stdin) == 1) {
        requantize((intptr_t)in, (intptr_t)out);
        fwrite(out, sizeof out, 1, stdout);
    }
    return 0;
}
"""
"""in: vectors of totals, mantissas, left and right shifts."""


class WithoutBorrow(Neon):
    """Negative halves are rounded up."""

    def requantized(self, builder, total, mantissa, right, **_):
        return self._call("srshl", builder, self._call("sqrdmulh", builder, total, mantissa), right)


class WithoutSaturation(Neon):
    """Bits are shifted out."""

    def shifted_left(self, builder, value, count):
        return builder.shl(value, count)


def compiled(isa, folder):
    """The program, with the instructions of a class."""
    module = ir.Module("requantize")
    module.triple = TRIPLE
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [LONG, LONG]), "requantize")
    builder = Builder(function.append_basic_block("entry"))
    source, target = function.args
    total, mantissa, left, right = (
        builder.load_from(builder.add(source, LONG(16 * at)), vector(WORD, 4), 4) for at in range(4)
    )
    isa = isa(aarch64.NEON)
    total = isa.shifted_left(builder, total, left)
    builder.store_to(isa.requantized(builder, total, mantissa, right), target, 4)
    builder.ret_void()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
        features=aarch64.NEON.features, reloc="pic"
    )
    (folder / "requantize.o").write_bytes(machine.emit_object(llvm.parse_assembly(str(module))))
    (folder / "main.c").write_text(MAIN)
    program = folder / "requantize"
    subprocess.run(
        [COMPILER, "-O1", folder / "main.c", folder / "requantize.o", "-o", program], check=True
    )
    return program


def numbers(count):
    """Totals, mantissas and exponents: random ones, small sums, and ties of both roundings."""
    random = np.random.default_rng(5)
    totals = random.integers(-(2**31), 2**31, count)
    few = random.integers(0, 31, count)
    totals = np.where(random.random(count) < 0.6, totals >> few, totals)
    mantissas = random.integers(2**30, 2**31, count)
    mantissas = np.where(random.random(count) < 0.4, 2**30, mantissas)  # 1/2: ties are frequent
    exponents = random.integers(-31, 22, count)
    return totals, mantissas, exponents


def expected(totals, mantissas, exponents):
    """RDPOT(SRDHM(total << left, M), right)."""
    left, right = np.maximum(exponents, 0), np.maximum(-exponents, 0)
    shifted = np.clip(totals << left, -(2**31), 2**31 - 1)
    return rounding_shift(doubling_high_product(shifted, mantissas), right)


def computed(program, totals, mantissas, exponents):
    shifts = np.maximum(exponents, 0), np.minimum(exponents, 0)
    parts = [part.reshape(-1, 4) for part in (totals, mantissas, *shifts)]
    data = np.stack(parts, axis=1).astype("<i4").tobytes()
    done = subprocess.run(
        [QEMU, "-L", SYSROOT, program], input=data, stdout=subprocess.PIPE, check=True
    )
    return np.frombuffer(done.stdout, "<i4").astype(np.int64)


@needs_compiler
@needs_emulator
def test_requantized_as_the_reference(tmp_path):
    values = numbers(1 << 18)
    result = expected(*values)
    assert np.array_equal(computed(compiled(Neon, tmp_path), *values), result)
    negative_ties = (values[0] < 0) & (values[2] < 0) & (result != 0)
    assert negative_ties.sum() > 10_000 and (values[2] > 0).sum() > 10_000
    for mutation in (WithoutBorrow, WithoutSaturation):
        assert not np.array_equal(computed(compiled(mutation, tmp_path), *values), result)
