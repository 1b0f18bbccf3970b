"""`make check-arm-kernels`: inner loops of the aarch64 kernels in LLVM's models of processors.

    .venv/bin/python -m tests.arm.inner_loops

Each loop runs in llvm-mca: cycles per multiply-accumulate instruction, next to those of the same
instructions without dependencies, loads and the rest of the loop, which is the processor's limit in
the same model. These are analyses and no measurements. Fails where a loop keeps something on the
stack, and where a large tile is below REACHED of the limit on a processor of MODELS.

It needs llvm-mca of LLVM 15 or newer (Debian: llvm-19) and compiles for aarch64 on any machine.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
MODELS = ("neoverse-n1", "neoverse-v2", "apple-m1")
"""LLVM has no model of its own for cortex-a76, and takes that of cortex-a57, without dot products;
its apple-m1 is the older `cyclone`."""
REACHED = 0.9
ITERATIONS = 200

PRINT_CODE = """
import sys
from nnapi_shim.drivers.cpu.isa import TIERS
from nnapi_shim.drivers.cpu.toolchain.compiling import FamilyCompiler
compiler = FamilyCompiler(TIERS[sys.argv[1]])
print(compiler.machine.emit_assembly(compiler.module(sys.argv[2])))
"""


class Loop(NamedTuple):
    """An inner loop: of a function of a family, that with most of an instruction.

    lanes: multiply-accumulates of an instruction. is_large: has to reach the limit.
    """

    title: str
    tier: str
    family: str
    function: str
    instruction: str
    lanes: int
    is_large: bool = True


LOOPS = (
    Loop("float32 8x8", "neon", "gemm", "nnk_tile_f32_8x2x4_adding", "fmla", 4),
    Loop("float32 7x8", "neon", "gemm", "nnk_tile_f32_7x2x4_adding", "fmla", 4),
    Loop("float32 4x8, few rows", "neon", "gemm", "nnk_tile_f32_4x2x4", "fmla", 4, False),
    Loop("int8 8x8 as int16", "neon", "gemm", "nnk_tile_s16s16_8x2x4_adding", "smlal", 4),
    Loop("int8 8x8, int8 input", "dotprod", "gemm", "nnk_tile_u8s8plain_8x2x4_adding", "sdot", 16),
    Loop(
        "int8 8x8, uint8 input", "dotprod", "gemm", "nnk_tile_u8s8_8x2x4_adding", "sdot", 16, False
    ),
    Loop("int8 7x8, int8 input", "dotprod", "gemm", "nnk_tile_u8s8plain_7x2x4_adding", "sdot", 16),
    Loop("int8 8x8, uint8 input", "i8mm", "gemm", "nnk_tile_u8s8plain_8x2x4_adding", "sudot", 16),
    Loop("int8 8x8, int8 input", "i8mm", "gemm", "nnk_tile_u8s8_8x2x4_adding", "sudot", 16, False),
    Loop("depthwise 3x3", "neon", "depthwise", "nnk_depthwise_f32_4_7_3_1_0_0", "fmla", 4, False),
    Loop("depthwise 5x5", "neon", "depthwise", "nnk_depthwise_f32_4_7_5_1_0_0", "fmla", 4, False),
    Loop(
        *("depthwise int8", "dotprod", "depthwise_quantized", "nnk_interleaved_4_4", "sdot"),
        *(16, False),
    ),
)


def assembly(tier: str, family: str) -> str:
    """The code of a family of kernels for an aarch64 tier."""
    done = subprocess.run(
        [sys.executable, "-c", PRINT_CODE, tier, family],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "NUMBA_CPU_NAME": "generic",
            "NUMBA_CPU_FEATURES": "",
            "NNAPI_SHIM_BUILD_TIER": tier,
            "NNAPI_SHIM_BUILD_MACHINE": "aarch64",
        },
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def inner_loop(code: str, loop: Loop) -> list[str]:
    """The instructions of the block of a function that has most of the loop's instruction."""
    body = code.split(f"\n{loop.function}:", 1)[1].split("\n.Lfunc_end", 1)[0]
    blocks = re.split(r"\n\.LBB\w+:", body)
    block = max(blocks, key=lambda block: len(_named(block.splitlines(), loop.instruction)))
    lines = [line.split("//")[0].strip() for line in block.splitlines()]
    return [line for line in lines if line and line[0] not in ".;"]


def _named(lines: list[str], instruction: str) -> list[str]:
    """Lines with an instruction, also its form of the upper half."""
    return [line for line in lines if line.split()[:1] in ([instruction], [instruction + "2"])]


def spilled(lines: list[str]) -> list[str]:
    """Vectors that a loop keeps on the stack."""
    return [line for line in lines if re.search(r"\[sp\b", line) and re.search(r"\bq\d", line)]


def mca() -> str:
    """The newest llvm-mca; ends the program with a message if there is none."""
    for version in range(30, 14, -1):
        if result := shutil.which(f"llvm-mca-{version}"):
            return result
    sys.exit("check-arm-kernels: there is no llvm-mca; Debian: apt install llvm-19")


def cycles(program: str, model: str, lines: list[str]) -> float:
    """Cycles of one iteration of these instructions."""
    done = subprocess.run(
        [
            *(program, "-mtriple=aarch64", f"-mcpu={model}", "-mattr=+dotprod,+i8mm"),
            *(f"-iterations={ITERATIONS}", "-instruction-info=false"),
            "-resource-pressure=false",
        ],
        input="\n".join(lines),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    (total,) = re.findall(r"Total Cycles:\s+(\d+)", done.stdout)
    return int(total) / ITERATIONS


def limit(program: str, model: str, lines: list[str], loop: Loop) -> float:
    """Cycles of the loop's multiply-accumulates alone, on 16 accumulators in turn."""
    (operands,) = {re.sub(r"v\d+", "v31", line, count=1) for line in lines[:1]}
    independent = [re.sub(r"\bv31\b", f"v{n}", operands, count=1) for n in range(16)]
    sources = [re.sub(r"(, )v\d+", r"\1v15", line) for line in independent[:15]]
    alone = cycles(program, model, sources) / len(sources)
    return alone * len(_named(lines, loop.instruction))


def main() -> int:
    """Print the table; 1 if a loop spills, or a large tile does not reach its limit."""
    program, wrong = mca(), []
    codes = {key: assembly(*key) for key in dict.fromkeys((x.tier, x.family) for x in LOOPS)}
    print(f"{'tier':8} {'loop':24} {'instructions':34}" + "".join(f"{m:>22}" for m in MODELS))
    for loop in LOOPS:
        lines = inner_loop(codes[loop.tier, loop.family], loop)
        products = _named(lines, loop.instruction)
        counts = Counter(line.split()[0] for line in lines)
        common = ", ".join(f"{count} {name}" for name, count in counts.most_common(3))
        row = f"{loop.tier:8} {loop.title:24} {common:34}"
        for model in MODELS:
            taken = cycles(program, model, lines)
            share = limit(program, model, products, loop) / taken
            row += f"{len(products) * loop.lanes / taken:8.2f} MAC/cy {share:5.0%}"
            if loop.is_large and share < REACHED:
                wrong.append(f"{loop.tier} {loop.title}: {share:.0%} of the limit of {model}")
        print(row)
        wrong += [f"{loop.tier} {loop.title} spills: {line}" for line in spilled(lines)]
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
