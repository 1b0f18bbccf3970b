"""`make check-v3vnni`: the conformance vectors and the exact examples on the tier v3vnni.

    python -m tests.tier_v3vnni [--threads 1,2,5] [--jobs 2]

On any processor with AVX2; one without AVX-VNNI has its instructions emulated. Prints a line for
each set of vectors and number of threads, and "natively" or "emulated".
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from nnapi_shim.drivers.cpu.program.library import processor_tiers
from tests.tier_v3vnni.emulation import NEEDED, TIER, environment, is_native

ROOT = Path(__file__).resolve().parents[2]
CONFORMANCE = ROOT.parent / "shared" / "conformance"


def main() -> int:
    """1 if a vector fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.tier_v3vnni")
    parser.add_argument("--jobs", default=str(os.cpu_count()), help="processes that run vectors")
    parser.add_argument("--threads", default="1,2,5", help="of a run")
    options = parser.parse_args()
    if not CONFORMANCE.is_dir():
        sys.exit(f"the conformance vectors, {CONFORMANCE}, are not here")
    if NEEDED not in processor_tiers():
        sys.exit("this processor has no AVX2")
    command = [sys.executable, str(CONFORMANCE / "run.py"), "-j", options.jobs]
    command += ["--lib", str(ROOT / "build" / "lib" / "libneuralnetworks.so")]
    good = True
    with tempfile.TemporaryDirectory() as folder:
        settings = environment(Path(folder)) | {"NNAPI_SHIM_JIT": "off"}
        settings["DEBUG_NN_ENABLED_DEVICES"] = "nnapi-cpu"
        how = "natively" if is_native(Path(folder)) else "emulated"
        command += ["--checks", "static"]
        for threads in options.threads.split(","):
            environ = os.environ | settings | {"NNAPI_SHIM_THREADS": threads}
            for name, more in (
                ("vectors", []),
                ("exact examples", ["--vectors", str(CONFORMANCE / "exact")]),
            ):
                done = subprocess.run(
                    [*command, *more], env=environ, capture_output=True, text=True
                )
                lines = done.stdout.strip().splitlines() or done.stderr.strip().splitlines()
                last = lines[-1] if lines else "nothing"
                print(f"{TIER}, {how}, {threads} threads, {name}: {last}", flush=True)
                good &= done.returncode == 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
