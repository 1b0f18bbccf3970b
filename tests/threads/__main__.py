"""`make check-threads`: every tier with one, two and five threads.

All conformance vectors pass, and the bits of the results of all model files and of random models do
not depend on the number of threads: once as steps are shared out, and once with every step cut into
as many tiles as it can be.

python -m tests.threads [--seeds 0:200] [--threads 1,2,5]
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from nnapi_shim.drivers.cpu.isa import PORTABLE
from nnapi_shim.drivers.cpu.program.library import processor_tiers

ROOT = Path(__file__).resolve().parents[2]
CONFORMANCE = ROOT.parent / "shared" / "conformance"


def vectors(library: Path, tier: str, threads: str, jobs: str) -> bool:
    """Run the conformance vectors; whether all pass."""
    command = [sys.executable, str(CONFORMANCE / "run.py"), "--lib", str(library), "-j", jobs]
    environment = os.environ | {"NNAPI_SHIM_TIER": tier, "NNAPI_SHIM_THREADS": threads}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    lines = done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ["nothing"]
    print(f"{tier}, {threads} threads: {lines[-1]}", flush=True)
    return done.returncode == 0


def bits(tier: str, seeds: str, threads: str) -> bool:
    """Compare the results of all models between numbers of threads; whether they are the same."""
    command = [sys.executable, "-m", "tests.threads.results", "--seeds", seeds]
    done = subprocess.run(
        [*command, "--threads", threads],
        env=os.environ | {"NNAPI_SHIM_TIER": tier},
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    if done.returncode:
        print(f"{tier}: the process ended: {done.returncode}", flush=True)
        return False
    actual = json.loads(done.stdout)
    different = {name: row for name, row in actual.items() if len(set(row.values())) > 1}
    failed = {
        name: row for name, row in actual.items() if any(" " in each for each in row.values())
    }
    for name, row in (different | failed).items():
        print(f"{tier}, {name}: {row}")
    print(
        f"{tier}: {len(actual)} results, {len(different)} depend on the number of threads, "
        f"{len(failed)} failed",
        flush=True,
    )
    return bool(actual) and not different and not failed


def main() -> int:
    """1 if a vector fails, a result depends on the number of threads, or nothing could be run."""
    parser = argparse.ArgumentParser(prog="python -m tests.threads")
    parser.add_argument("--seeds", default="0:200", help="random models: first:end")
    parser.add_argument("--threads", default="1,2,5")
    parser.add_argument("--jobs", default=str(os.cpu_count()), help="processes that run vectors")
    parser.add_argument("--library", type=Path, default=ROOT / "build/lib/libneuralnetworks.so")
    options = parser.parse_args()
    if not CONFORMANCE.is_dir():
        sys.exit(f"the conformance vectors, {CONFORMANCE}, are not here")
    good = True
    for tier in dict.fromkeys((*processor_tiers(), PORTABLE)):
        good &= bits(tier, options.seeds, options.threads)
        for threads in options.threads.split(","):
            good &= vectors(options.library, tier, threads, options.jobs)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
