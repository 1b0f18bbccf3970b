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

A part that fails does not keep the others from running; a table of all is at the end.

--quick takes a few vectors and models. It needs root rights (chroot, mount), binfmt_misc, and the
packages that a message names.
"""

import argparse
import sys
import time

from tests.arm import checkout, folders, installed, packages, pages
from tests.arm.emulated_root import PROCESSORS, ready_root
from tests.arm.options import add_jobs, add_root, check_root
from tests.arm.parts import attempted, setting_of, summary

ON_ONE_TIER = {
    "native": checkout.check_native,
    "folders": folders.check,
    "sanitizers": checkout.check_sanitizers,
    "packages": packages.check,
    "pages": pages.check,
}
ON_EACH_TIER = {
    "examples": installed.check_examples,
    "models": checkout.check_models,
    "vectors": installed.check_vectors,
}
PARTS = (*ON_EACH_TIER, *ON_ONE_TIER)
IN_CHECKOUT = {"models", "native", "sanitizers", "pages"}
THE_TIER = "dotprod"
"""Of the parts that run on one."""


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few vectors and models")
    parser.add_argument("--tiers", nargs="+", choices=PROCESSORS, default=[*PROCESSORS])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=[*PARTS])
    parser.add_argument("--checks", choices=["static", "all"], default="static", help="of vectors")
    add_jobs(parser)
    add_root(parser)
    options = parser.parse_args()
    check_root(parser, options)
    began = time.monotonic()
    ready_root(options.root, options.wheel, options.installed)
    installed.compile_examples(options.root)
    if IN_CHECKOUT & {*options.parts}:
        checkout.ready_checkout(options.root, THE_TIER)
    print(f"ready after {time.monotonic() - began:.0f} s", flush=True)
    chosen = [(name, part, THE_TIER) for name, part in ON_ONE_TIER.items()]
    chosen += [(name, part, tier) for tier in options.tiers for name, part in ON_EACH_TIER.items()]
    results = [
        attempted(name, part, setting_of(options, tier))
        for name, part, tier in chosen
        if name in options.parts
    ]
    print(summary(results, time.monotonic() - began))
    return 0 if all(result.outcome.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
