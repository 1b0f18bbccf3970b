"""Run the tests of each family on kernels with one fault: 1 if a fault is not found.

python -m tests.kernel_mutations [--families pooling,softmax] [--root FOLDER] [--jobs 1]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from nnapi_shim.drivers.cpu.program.library import processor_tiers
from tests.kernel_mutations.mutations import FAMILIES, Fault
from tests.kernel_mutations.plugin import VARIABLE

TESTS_FAILED = 1
"""Exit code of pytest; a crash of the process has a negative one and is a fault that was found."""
NO_FAULT = Fault("import numpy as np\n", "import numpy as np\n")


def outcome(family: str, fault: Fault, root: str, test: str = "") -> str:
    """How the tests of the family, or one test, end: "found", "not found", or what went wrong."""
    files = [f"tests/drivers/cpu/test_{name}.py" for name in FAMILIES[family].tests.split()]
    chosen = [test] if test else files
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *chosen],
        cwd=root,
        env=os.environ
        | {
            VARIABLE: json.dumps([family, *fault]),
            "PYTEST_PLUGINS": "tests.kernel_mutations.plugin",
        }
        | ({"NNAPI_SHIM_TIER": tier} if (tier := FAMILIES[family].tier) else {}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return "not found"
    if done.returncode == TESTS_FAILED or done.returncode < 0:
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return f"found: {failed[0][:150]}" if failed else f"found: exit code {done.returncode}"
    return f"pytest ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def main() -> int:
    """Run the faults of the chosen families."""
    parser = argparse.ArgumentParser(prog="python -m tests.kernel_mutations")
    parser.add_argument("--families", default="", help="names; default: all of this processor")
    parser.add_argument("--root", default=".", help="the folder whose tests/ run; default: this")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--none", action="store_true", help="no fault: all tests have to pass")
    options = parser.parse_args()
    here = [name for name, family in FAMILIES.items() if family.tier in ("", *processor_tiers())]
    names = options.families.split(",") if options.families else here
    runs = [
        (name, fault)
        for name in names
        for fault in ([NO_FAULT] if options.none else FAMILIES[name].faults)
    ]

    def timed(run: tuple[str, Fault]) -> tuple[str, float]:
        began = time.monotonic()
        return outcome(*run, options.root), time.monotonic() - began

    count = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for (name, fault), (result, seconds) in zip(runs, pool.map(timed, runs), strict=True):
            print(f"{name}: {fault.old!r} -> {fault.new!r}: {result} ({seconds:.0f} s)", flush=True)
            count += result.startswith("found")
    print(f"{len(runs)} faults, {count} found")
    return int(count != (0 if options.none else len(runs)))


if __name__ == "__main__":
    sys.exit(main())
