"""`make check-memory`: compiled kernels under valgrind's memcheck, in a C program.

    python tests/memory/run_in_valgrind.py [OPERATION ...]

Replays some conformance vectors of every operation (or of those named) on nnapi-cpu, its arguments
in malloc'ed memory of their exact size, and prints what valgrind finds in kernels: reads and writes
outside of any allocation, and of freed memory. Python itself is not looked at. Exits with 1 when
there is something. Needs valgrind; tier v3 at most, as valgrind knows no AVX-512.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from nnapi_shim.drivers.cpu.program.library import processor_tiers  # noqa: E402
from tests.conformance.flatten import flatten  # noqa: E402
from tests.conformance.vectors import Example, examples, present_operations  # noqa: E402

EXAMPLES = 6
"""Of every operation."""

VALGRIND = ["valgrind", "--undef-value-errors=no", "--num-callers=8", "--error-limit=no"]


def chosen(names: set[str]) -> list[Example]:
    """A few examples of each operation, spread over its files."""
    actual: dict[str, Example] = {}
    for code, name in present_operations().items():
        if names and name not in names:
            continue
        of_it = [e for e in examples() if code in e.entry["ops"] or code in e.operations]
        of_it = [e for e in of_it if not e.entry["multinomial_tolerance"]]
        step = max(1, len(of_it) // EXAMPLES)
        actual.update({e.name: e for e in of_it[::step][:EXAMPLES]})
    return list(actual.values())


def program(folder: Path) -> Path:
    """The compiled replay.c."""
    here, path = ROOT / "tests" / "conformance", folder / "replay"
    command = ["cc", "-std=c99", "-O1", "-g", f"-I{ROOT / 'include'}"]
    command += [f"-I{ROOT / 'tests' / 'abi'}", str(here / "replay.c"), "-o", str(path)]
    command += [f"-L{ROOT / 'build' / 'lib'}", "-lneuralnetworks", "-lm"]
    subprocess.run(command, check=True)
    return path


def in_kernels(log: str) -> list[str]:
    """The reports of valgrind whose stack has a kernel in it."""
    lines = [line.partition("== ")[2] for line in log.splitlines()]
    reports = "\n".join(lines).split("\n\n")
    return [report for report in reports if "libnnapi_kernels" in report and " at 0x" in report]


def main() -> None:
    """The command line."""
    selected = chosen(set(sys.argv[1:]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        vectors, log = folder / "vectors.flat", folder / "valgrind.log"
        vectors.write_bytes(flatten(selected))
        print(f"{len(selected)} examples under valgrind ...", flush=True)
        tier = "v3" if "v3" in processor_tiers() else processor_tiers()[0]
        env = {
            "PATH": os.environ["PATH"],
            "LD_LIBRARY_PATH": str(ROOT / "build" / "lib"),
            "NNAPI_SHIM_TIER": tier,
            "NNAPI_SHIM_JIT": "off",
            "NNAPI_SHIM_LOG": "silent",
            "PYTHONMALLOC": "malloc",
        }
        command = [*VALGRIND, f"--log-file={log}", str(program(folder)), str(vectors), "nnapi-cpu"]
        result = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        reports = in_kernels(log.read_text())
    print(result.stdout, end="")
    print("\n\n".join(reports))
    print(f"{len(reports)} reports of valgrind in kernels")
    sys.exit(bool(reports) or result.returncode != 0)


if __name__ == "__main__":
    main()
