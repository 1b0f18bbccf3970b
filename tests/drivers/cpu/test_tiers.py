"""The matrix kernels of tiers that this processor would not choose, in other processes.

The built kernels of AVX-VNNI run on any processor with AVX2 (tests/tier_v3vnni). Those of AVX-512
are compiled with its dot product instructions emulated: the tiles, panels and tails are those of
the tier, 512-bit vectors become pairs of 256 bits. Only kernels whose geometry is that of the tier
are compiled, which takes most of the time; copies and the like are those of the processor's tier.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nnapi_shim.drivers.cpu.isa import DEFAULT_TIERS, platform_machine
from nnapi_shim.drivers.cpu.program.library import processor_tiers
from tests.tier_v3vnni import emulation

HERE = Path(__file__).parent
ROOT = HERE.parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(platform_machine() != "x86_64", reason="tiers are those of x86-64"),
]

WITH_GEOMETRY = (
    *("depthwise", "depthwise_quantized", "gemm", "matmul", "packing", "winograd", "winograd_4x4"),
)
"""Families of kernels that depend on the geometry of a tier."""
RUN_TESTS = """
import sys, pytest
from nnapi_shim.drivers.cpu.program import library
tier, *sys.argv = sys.argv[1:]
kernels = library.current()
kernels.tier = tier
if families := sys.argv.pop(0):
    from nnapi_shim.drivers.cpu.kernels import load
    from nnapi_shim.drivers.cpu.toolchain.jit import compile_kernel
    from nnapi_shim.drivers.cpu.toolchain.kernel import KERNELS
    for family in families.split(","):
        load(family)
    compiled, built = {*KERNELS}, kernels._find
    kernels._find = lambda name: compile_kernel(name, tier) if name in compiled else built(name)
options = "-q", "-x", "-p", "no:cacheprovider", "-p", "no:faulthandler"
sys.exit(pytest.main([*options, *sys.argv]))
"""
PRINT_CODE = """
import sys
from nnapi_shim.drivers.cpu.isa.every import TIERS
from nnapi_shim.drivers.cpu.toolchain.compiling import FamilyCompiler
compiler = FamilyCompiler(TIERS[sys.argv[1]])
print(compiler.machine.emit_assembly(compiler.module("gemm")))
"""


def python(code: str, *arguments: str, **environment: str) -> str:
    """Run code in a fresh interpreter; its output."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


@pytest.mark.parametrize(
    "tier", [tier for tier in DEFAULT_TIERS if tier not in processor_tiers()[:1]]
)
def test_kernels_of_tier(tier: str, tmp_path: Path) -> None:
    parts: tuple[str, ...] = ("convolution", "matmul", "byte_pairs", "shifted_words")
    parts += ("winograd_quantized", "floored", "panel_prefetch")
    some, families = list[str](), ""
    environment = {"NNAPI_SHIM_TIER": tier}
    if tier == emulation.TIER and emulation.NEEDED in processor_tiers():
        kernels = ROOT / "build" / "lib" / f"libnnapi_kernels_{tier}.so"
        assert kernels.is_file(), f"{kernels} is not built: `make kernels` builds it"
        parts, environment = ("convolution", "matmul"), emulation.environment(tmp_path)
        environment["NNAPI_SHIM_JIT"] = "off"
        # An emulated instruction takes a microsecond; `make check-v3vnni` runs all vectors.
        some = ["-k", "test_activation or nchw or saturating or furthest"]
    elif tier not in processor_tiers():
        # None is built that would run here.
        environment = {"NNAPI_SHIM_BUILD_TIER": tier, "NNAPI_SHIM_BUILD_EMULATE": "1"}
        families = ",".join(WITH_GEOMETRY)
    files = [str(HERE / f"test_{part}.py") for part in parts]
    assert " passed" in python(RUN_TESTS, tier, families, *some, *files, **environment)


INNER_LOOPS = {
    "nnk_tile_f32_6x4x16_adding": "vfmadd",
    "nnk_tile_u8s8_6x4x16_adding": "vpdpbusd",
}


def test_inner_loops_of_v4_keep_to_registers() -> None:
    """24 multiplications on 512-bit registers per round, nothing spilled to the stack."""
    code = python(
        PRINT_CODE, "v4",
        NUMBA_CPU_NAME="x86-64-v4", NUMBA_CPU_FEATURES="+avx512vnni", NNAPI_SHIM_BUILD_TIER="v4",
    )  # fmt: skip
    for name, instruction in INNER_LOOPS.items():
        body = code.split(f"\n{name}:", 1)[1].split("\n.Lfunc_end", 1)[0]
        blocks = re.split(r"\n\.LBB\w+:", body)
        loop = max(blocks, key=lambda block: block.count(instruction))
        assert loop.count(instruction) == 24
        assert len(re.findall(rf"{instruction}.*%zmm", loop)) == 24
        assert "%rsp" not in loop.rpartition(instruction)[0]
