"""Sweeps programs again and again: every report of a program is the same, byte for byte.

    python -m tests.phones.sweeps --sweeps 1000

It ends with 1 and the first difference if one differs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from time import monotonic

from nnapi_shim.tools.execute import environment
from nnapi_shim.tools.sweep import junit, sweep
from tests.phones.conftest import HERE, LIBRARIES, ROOT

MINIMAL = """
#include <android/NeuralNetworks.h>
#include <stdio.h>
int main(void) {
  ANeuralNetworksModel* model = NULL;
  if (ANeuralNetworksModel_create(&model) != 0) printf("none\\n");
  ANeuralNetworksModel_free(model);
}
"""
"""Makes a few runs of a sweep only, one of which is a finding."""
SHARE = 100
"""One of so many sweeps is of a program with planted errors, all others of the minimal one."""


def compiled(folder: Path) -> list[Path]:
    """The minimal program, and those with planted errors."""
    (folder / "minimal.c").write_text(MINIMAL)
    programs = []
    for source in (folder / "minimal.c", HERE / "leak.c", HERE / "unchecked.c"):
        programs.append(folder / source.stem)
        flags = [f"-I{ROOT / 'include'}", f"-L{LIBRARIES}", "-lneuralnetworks"]
        subprocess.run(["cc", source, *flags, "-o", programs[-1]], check=True)
    return programs


def report(program: Path) -> bytes:
    """The report of a sweep, as JSON and as JUnit XML."""
    result = sweep([str(program)], environment(dict(os.environ)), jobs=1, most_calls=1)
    return f"{json.dumps(asdict(result))}\n{junit(result)}".encode()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweeps", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    began = monotonic()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        minimal, *planted = compiled(Path(name))
        with tempfile.TemporaryDirectory() as elsewhere:
            os.chdir(elsewhere)  # a sweep refuses a folder in which files change
            programs = [
                planted[number // SHARE % len(planted)] if number % SHARE == 0 else minimal
                for number in range(options.sweeps)
            ]
            first: dict[Path, bytes] = {}
            with ThreadPoolExecutor(options.jobs) as pool:
                results = pool.map(report, programs)
                for done, (program, found) in enumerate(zip(programs, results, strict=True), 1):
                    if first.setdefault(program, found) != found:
                        print(f"sweep {done}, of {program.name}, differs from the first:")
                        print(found.decode())
                        pool.shutdown(cancel_futures=True)
                        return 1
                    if sys.stderr.isatty():
                        print(f"\r{done} of {options.sweeps}", end="", file=sys.stderr)
    seconds = monotonic() - began
    sizes = ", ".join(f"{program.name} {len(text)} bytes" for program, text in first.items())
    print(f"{options.sweeps} sweeps in {seconds:.0f} s: each report as the first one; {sizes}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
