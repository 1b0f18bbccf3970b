"""`make test-arm`: the aarch64 wheel on every tier, in a Debian for arm64 that QEMU emulates.

    .venv/bin/python -m tests.arm.run_emulated [--quick] [--tiers neon ...] [--parts vectors ...]
        [--checks all] [--jobs N] [--root DIR] [--wheel FILE | --installed]

Makes a root of Debian 12 for arm64 once (build/aarch64/root), builds the wheel with zig, and
installs it there with cffi and numpy from PyPI. The parts, on a processor that has no more than a
tier needs:

examples: a Python program and the C examples, whose output has to be the expected one.
models: random models give the results of nnapi-reference.
vectors: the conformance vectors, and exact results of quantized operations.
native: the tests of start-up, forks, threads and hostile programs, on one tier.
folders: a folder of cached models that this machine and the emulated one use in turns; captures of
    one are repeated on the other. On one tier, with the library that `make` has built here.
sanitizers: the C programs of `make check-native` with AddressSanitizer, on one tier.
packages: the Debian packages and the tarball are made and installed; a C and a Python program.
pages: start-up, memories, cached models and some vectors with pages of 16 and 64 KB, on one tier.

--quick takes a few vectors and models. It needs root rights (chroot, mount), binfmt_misc, and the
packages that a message names.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.arm import checkout, folders, packages, pages
from tests.arm.emulated_root import (
    BUILD,
    CONFORMANCE,
    PROCESSORS,
    ROOT,
    SITE,
    VECTORS,
    enter,
    output,
    ready_root,
    run,
)

PROGRAM = """
import numpy as np
from nnapi_shim import Compilation, Model
from nnapi_shim.capi import ffi, nnapi_shim_getProcessorTier
with Model() as model:
    x = model.input("TENSOR_FLOAT32", [2, 3])
    model.outputs(model.softmax(x))
result = Compilation(model, devices=["nnapi-cpu"]).run(np.ones((2, 3), np.float32))
assert np.allclose(result, 1 / 3), result
print(ffi.string(nnapi_shim_getProcessorTier()).decode())
"""
EXACT = ["--vectors", f"{VECTORS}/exact"]
QUICK = (("vectors", ["--file", "V1_0/*"]), ("exact results", [*EXACT, "--op", "CONV_2D"]))
WHOLE = (("vectors", []), ("exact results", EXACT))
"""What of the vectors: a title, and arguments of their runner."""
ON_EACH_TIER = ("examples", "models", "vectors")
ON_ONE_TIER = {
    "native": checkout.check_native,
    "folders": folders.check,
    "sanitizers": checkout.check_sanitizers,
    "packages": packages.check,
    "pages": pages.check,
}
PARTS = (*ON_EACH_TIER, *ON_ONE_TIER)
IN_CHECKOUT = {"models", "native", "sanitizers", "pages"}
THE_TIER = "dotprod"
"""Of the parts that run on one."""


def compile_examples(root: Path) -> list[Path]:
    """The C examples with an expected output, compiled into the root for the wheel."""
    package, programs = root / SITE / "nnapi_shim", []
    (root / "examples").mkdir(exist_ok=True)
    for expected in sorted((ROOT / "c_examples").glob("*.expected")):
        (source,) = (p for p in expected.parent.glob(f"{expected.stem}.c*") if p.suffix != ".md")
        compiler = "g++" if source.suffix == ".cpp" else "gcc"
        include = package / "include"
        libraries = ["-landroid", "-llog"] if source.suffix == ".cpp" else []
        program = root / "examples" / expected.stem
        run(
            [
                *(f"aarch64-linux-gnu-{compiler}", "-O2", "-pthread", f"-I{include}"),
                *(f"-I{include}/companion", source, "-o", program, f"-L{package}/lib"),
                *(*libraries, "-lneuralnetworks", "-lm"),
            ]
        )
        programs.append(program)
    return programs


def check_examples(root: Path, tier: str, programs: Sequence[Path]) -> bool:
    """Whether a Python program and the C examples print what they should."""
    code, printed = output(enter(root, ["python3", "-c", PROGRAM], tier))
    wrong = [] if (code, printed.strip()) == (0, tier) else [f"Python: {code}, {printed.strip()}"]
    for program in programs:
        code, printed = output(enter(root, [f"/examples/{program.name}"], tier))
        if code or printed != (ROOT / "c_examples" / f"{program.name}.expected").read_text():
            wrong.append(f"{program.name}: {code}, {printed}")
    print(f"{tier}: Python, {len(programs)} C examples: {'; '.join(wrong) or 'ok'}", flush=True)
    return not wrong


def check_vectors(root: Path, tier: str, options: argparse.Namespace) -> bool:
    """Whether the conformance vectors pass."""
    if not CONFORMANCE.is_dir():
        print("test-arm: the conformance vectors, ../shared/conformance, are not here")
        return True
    library = f"/{SITE}/nnapi_shim/lib/libneuralnetworks.so"
    command = ["python3", f"{VECTORS}/run.py", "--lib", library, "-j", str(options.jobs)]
    settings = {"DEBUG_NN_ENABLED_DEVICES": "nnapi-cpu", "NNAPI_SHIM_TIER": tier}
    good = True
    for title, arguments in QUICK if options.quick else WHOLE:
        began = time.monotonic()
        checks = "static" if "exact" in title else options.checks
        words = [*command, "--fail-list", "--timeout", "600", "--checks", checks, *arguments]
        code, printed = output(enter(root, words, tier, {VECTORS: CONFORMANCE}, **settings))
        lines = printed.strip().splitlines() or ["nothing was printed"]
        print(*lines[:-1], sep="\n", end="\n" if lines[1:] else "")
        took = f"{time.monotonic() - began:.0f} s"
        print(f"{tier}: {title}, {checks}: {lines[-1]} in {took}", flush=True)
        good &= code == 0
    return good


def check_tier(
    root: Path, tier: str, programs: Sequence[Path], options: argparse.Namespace
) -> bool:
    """Whether the parts that run on each tier succeed."""
    good = True
    if "examples" in options.parts:
        good &= check_examples(root, tier, programs)
    if "models" in options.parts:
        good &= checkout.check_models(root, tier, options.quick, options.jobs)
    if "vectors" in options.parts:
        good &= check_vectors(root, tier, options)
    return good


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few vectors and models")
    parser.add_argument("--tiers", nargs="*", choices=PROCESSORS, default=[*PROCESSORS])
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=[*PARTS])
    parser.add_argument("--checks", choices=["static", "all"], default="static", help="of vectors")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--root", type=Path, default=BUILD / "root", help="an arm64 root")
    parser.add_argument("--wheel", type=Path, help="the wheel; default: it is built")
    parser.add_argument("--installed", action="store_true", help="the wheel that the root has")
    options = parser.parse_args()
    ready_root(options.root, options.wheel, options.installed)
    programs = compile_examples(options.root)
    if IN_CHECKOUT & {*options.parts}:
        checkout.ready_checkout(options.root, THE_TIER)
    good = True
    for part in (part for part in ON_ONE_TIER if part in options.parts):
        began = time.monotonic()
        is_good = ON_ONE_TIER[part](options.root, THE_TIER, options.quick)
        took = f"{time.monotonic() - began:.0f} s"
        print(f"{THE_TIER}: {part}: {'ok' if is_good else 'FAILED'} in {took}", flush=True)
        good &= is_good
    for tier in options.tiers:
        good &= check_tier(options.root, tier, programs, options)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
