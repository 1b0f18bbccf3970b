"""`make check-kernels-by-analysis`: inner loops of kernels in LLVM's models of processors.

    .venv/bin/python -m tests.analysis.inner_loops [TIER ...]

Each loop runs in llvm-mca: cycles per multiply-accumulate instruction, next to those of the same
instructions without dependencies, loads and the rest of the loop, which is the processor's limit in
the same model. These are analyses and no measurements. Fails where a loop keeps something on the
stack, and where a large tile is below REACHED of the limit on a processor of MODELS, unless BELOW
says why.

It needs llvm-mca of LLVM 19 or newer (Debian: llvm-19), and compiles for all tiers on any machine.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nnapi_shim.drivers.cpu.isa import platform_machine, processor
from nnapi_shim.drivers.cpu.isa.every import ARCHITECTURES, TIERS
from nnapi_shim.drivers.cpu.isa.tier import Architecture

ROOT = Path(__file__).resolve().parents[2]
MODELS = {
    "neon": ("neoverse-n1", "neoverse-v2", "apple-m1"),
    "dotprod": ("neoverse-n1", "neoverse-v2", "apple-m1"),
    "i8mm": ("neoverse-n1", "neoverse-v2", "apple-m1"),
    "v3": ("skylake", "alderlake", "znver3"),
    "v3vnni": ("alderlake", "znver5"),
    "v4": ("icelake-server", "sapphirerapids", "znver4"),
}
"""Processors of each tier. LLVM has no model of its own for cortex-a76, and takes that of
cortex-a57, without dot products; its apple-m1 is the older `cyclone`, its znver5 is znver4."""
ATTRIBUTES = {"aarch64": "+dotprod,+i8mm", "x86_64": ""}
REACHED = 0.9
ITERATIONS = 200
JUMP = re.compile(r"(j\w+|b\.\w+|cbn?z|b)$")

PRINT_CODE = """
import sys
from nnapi_shim.drivers.cpu.isa.every import TIERS
from nnapi_shim.drivers.cpu.toolchain.compiling import FamilyCompiler
compiler = FamilyCompiler(TIERS[sys.argv[1]])
print(compiler.machine.emit_assembly(compiler.module(sys.argv[2])))
"""


class Loop(NamedTuple):
    """An inner loop: of a function of a family, that with most of an instruction.

    lanes: multiply-accumulates of an instruction. is_large: has to reach the limit. limit: the
    instruction whose limit that is, and its multiply-accumulates, if it is not that of the loop.
    """

    title: str
    tier: str
    family: str
    function: str
    instruction: str
    lanes: int
    is_large: bool = True
    limit: tuple[str, int] | None = None


USDOT = "usdot v0.4s, v1.16b, v2.16b", 16
"""The dot product of `i8mm`. USMMLA multiplies twice as much, of operands that take instructions to
put together.
"""
LOOPS = (
    Loop("float32 8x8", "neon", "gemm", "nnk_tile_f32_8x2x4_adding", "fmla", 4),
    Loop("float32 7x8", "neon", "gemm", "nnk_tile_f32_7x2x4_adding", "fmla", 4),
    Loop("float32 4x8, few rows", "neon", "gemm", "nnk_tile_f32_4x2x4", "fmla", 4, False),
    Loop("int8 8x8 as int16", "neon", "gemm", "nnk_tile_s16s16_8x2x4_adding", "smlal", 4),
    Loop("int8 4x16, int8 input", "dotprod", "gemm", "nnk_tile_u8s8plain_4x4x4_adding", "sdot", 16),
    Loop("int8 4x16, uint8 input", "dotprod", "gemm", "nnk_tile_u8s8_4x4x4_adding", "sdot", 16),
    Loop(
        *("int8 8x8, uint8 input", "i8mm", "gemm", "nnk_tile_u8s8plain_8x2x4_adding", "usmmla", 32),
        limit=USDOT,
    ),
    Loop(
        *("int8 8x8, int8 input", "i8mm", "gemm", "nnk_tile_u8s8_8x2x4_adding", "usmmla", 32),
        limit=USDOT,
    ),
    Loop(
        *("int8 7x8, uint8 input", "i8mm", "gemm", "nnk_tile_u8s8plain_7x2x4_adding", "usmmla", 32),
        limit=USDOT,
    ),
    Loop("depthwise 3x3", "neon", "depthwise", "nnk_depthwise_f32_4_7_3_1_0_0", "fmla", 4, False),
    Loop("depthwise 5x5", "neon", "depthwise", "nnk_depthwise_f32_4_7_5_1_0_0", "fmla", 4, False),
    Loop(
        *("depthwise int8", "dotprod", "depthwise_quantized", "nnk_interleaved_4", "sdot"),
        *(16, False),
    ),
    Loop(
        *("depthwise int8 as int16", "neon", "depthwise_quantized", "nnk_interleaved_2", "smlal"),
        *(4, False),
    ),
    Loop("float32 6x16", "v3", "gemm", "nnk_tile_f32_6x2x8_adding", "vfmadd231ps", 8),
    Loop("int8 6x16 as int16", "v3", "gemm", "nnk_tile_s16s16_6x2x8_adding", "vpmaddwd", 16, False),
    Loop("int8 6x16", "v3vnni", "gemm", "nnk_tile_u8s8_6x2x8_adding", "vpdpbusd", 32),
    Loop("int8 4x16, few rows", "v3vnni", "gemm", "nnk_tile_u8s8_4x2x8", "vpdpbusd", 32, False),
    Loop("int8, one row", "v3vnni", "gemm", "nnk_tile_u8s8_1x2x8", "vpdpbusd", 32, False),
    Loop(
        *("depthwise int8", "v3vnni", "depthwise_quantized", "nnk_interleaved_4", "vpdpbusd"),
        *(32, False),
    ),
    Loop("float32 6x64", "v4", "gemm", "nnk_tile_f32_6x4x16_adding", "vfmadd231ps", 16),
    Loop("int8 6x64", "v4", "gemm", "nnk_tile_u8s8_6x4x16_adding", "vpdpbusd", 64),
    Loop("int8 7x32", "v4", "gemm", "nnk_tile_u8s8_7x2x16_adding", "vpdpbusd", 64),
    Loop(
        *("depthwise int8", "v4", "depthwise_quantized", "nnk_interleaved_4", "vpdpbusd"),
        *(64, False),
    ),
)


XORS = "the XOR of input words takes the ports of products"
BELOW = {
    ("v4", "float32 6x64", "znver4"): "the model lets broadcasts take the ports of products",
    ("v4", "int8 6x64", "icelake-server"): XORS,
    ("v4", "int8 7x32", "icelake-server"): XORS,
}
"""Tier, large tile and model in which it does not reach the limit -> why."""


def architecture(tier: str) -> Architecture:
    """The architecture that a tier belongs to."""
    return next(each for each in ARCHITECTURES if TIERS[tier] in each.tiers)


def assembly(tier: str, family: str) -> str:
    """The code of a family of kernels for a tier."""
    target = architecture(tier)
    cpu, features = processor(TIERS[tier], target)
    if target.machine != platform_machine():
        cpu, features = "generic", ""  # of numba's own code generator, which generates nothing
    done = subprocess.run(
        [sys.executable, "-c", PRINT_CODE, tier, family],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "NUMBA_CPU_NAME": cpu,
            "NUMBA_CPU_FEATURES": features,
            "NNAPI_SHIM_BUILD_TIER": tier,
            "NNAPI_SHIM_BUILD_MACHINE": target.machine,
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
    lines = [line for line in lines if line and line[0] not in ".;#"]
    jumps = (at for at, line in enumerate(lines) if JUMP.match(line.split()[0]))
    return lines[: next(jumps, len(lines)) + 1]


def _named(lines: Sequence[str], instruction: str) -> list[str]:
    """Lines with an instruction, also its form of the upper half."""
    words = ([*filter(lambda word: word != "{vex}", line.split())] for line in lines)
    names = [instruction], [instruction + "2"]
    return [line for line, parts in zip(lines, words, strict=True) if parts[:1] in names]


def spilled(lines: Sequence[str]) -> list[str]:
    """Vectors that a loop keeps on the stack."""
    on_stack = re.compile(r"\[sp\b.*\bq\d|\bq\d.*\[sp\b|\(%rsp.*%[xyz]mm|%[xyz]mm.*\(%rsp")
    return [line for line in lines if on_stack.search(line)]


def mca() -> str:
    """The newest llvm-mca; ends the program with a message if there is none."""
    for version in range(30, 18, -1):
        if result := shutil.which(f"llvm-mca-{version}"):
            return result
    sys.exit("check-kernels-by-analysis: there is no llvm-mca; Debian: apt install llvm-19")


def cycles(program: str, model: str, lines: Sequence[str], machine: str) -> float:
    """Cycles of one iteration of these instructions."""
    done = subprocess.run(
        [
            *(program, f"-mtriple={machine}", f"-mcpu={model}", f"-mattr={ATTRIBUTES[machine]}"),
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


def alone(product: str) -> list[str]:
    """A product of registers, on accumulators in turn."""
    if found := re.search(r"%([xyz]mm)", product):
        name = product.split("%")[0].split("-")[0].split("(")[0].strip()
        kind = found[1]
        return [f"{name} %{kind}15, %{kind}14, %{kind}{n}" for n in range(12)]
    operands = re.sub(r"v\d+", "v31", product, count=1)
    independent = [re.sub(r"\bv31\b", f"v{n}", operands, count=1) for n in range(16)]
    return [re.sub(r"(, )v\d+", r"\1v15", line) for line in independent[:15]]


def main() -> int:
    """Print the table; 1 if a loop spills, or a large tile does not reach its limit."""
    parser = argparse.ArgumentParser(prog="python -m tests.analysis.inner_loops")
    parser.add_argument("tiers", nargs="*", metavar="TIER", help=", ".join(MODELS))
    wanted = parser.parse_args().tiers or [*MODELS]
    if unknown := [tier for tier in wanted if tier not in MODELS]:
        parser.error(f"{unknown[0]} is none of {', '.join(MODELS)}")
    program, wrong = mca(), []
    for tier in wanted:
        loops = [loop for loop in LOOPS if loop.tier == tier]
        codes = {family: assembly(tier, family) for family in {x.family for x in loops}}
        title = f"{'tier':8} {'loop':24} {'instructions':38}"
        print(title + "".join(f"{model:>22}" for model in MODELS[tier]), flush=True)
        for loop in loops:
            wrong += row(program, loop, inner_loop(codes[loop.family], loop))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def row(program: str, loop: Loop, lines: Sequence[str]) -> list[str]:
    """Print the row of a loop; what is wrong with it."""
    wrong = [f"{loop.tier} {loop.title} spills: {line}" for line in spilled(lines)]
    machine = architecture(loop.tier).machine
    products = _named(lines, loop.instruction)
    counts = Counter(line.removeprefix("{vex}").split()[0] for line in lines)
    common = ", ".join(f"{count} {name}" for name, count in counts.most_common(3))
    text = f"{loop.tier:8} {loop.title:24} {common:38}"
    for model in MODELS[loop.tier]:
        taken = cycles(program, model, lines, machine)
        product, lanes = loop.limit or (products[0], loop.lanes)
        independent = alone(product)
        limit = lanes * len(independent) / cycles(program, model, independent, machine)
        reached = len(products) * loop.lanes / taken
        share = reached / limit
        text += f"{reached:8.2f} MAC/cy {share:5.0%}"
        is_known = (loop.tier, loop.title, model) in BELOW
        if loop.is_large and (share < REACHED) is not is_known:
            line = f"{loop.tier} {loop.title}: {share:.0%} of the limit of {model}"
            wrong.append(line + ", and is in BELOW" * is_known)
    print(text, flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
