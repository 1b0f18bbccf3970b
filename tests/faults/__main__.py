"""`python -m tests.faults --minutes N`: faults at random places, until the time is over."""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.running import DEVICES, KINDS, compiled, run, starts

BATCH = 10


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    end = time.monotonic() + 60 * chosen.minutes
    faults = computed = refused = 0
    defects: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(folder))
        calls: dict[tuple[str, str, str], int] = {}
        while time.monotonic() < end:
            device, kind = rng.choice(DEVICES), rng.choice(KINDS)
            what = device, kind, rng.choice(starts(device, kind))
            first = rng.randrange(calls.get(what, 1)) + 1
            counts = run(program, *what, first, rng.randrange(1, 100), BATCH)
            calls[what] = max(counts.calls, 1)
            faults += counts.faults
            computed += counts.computed
            refused += counts.refused
            defects += counts.defects
            for line in counts.defects:
                print(line, flush=True)
    print(
        f"faults: {faults} (seed {chosen.seed}); {computed} runs computed, {refused} were refused, "
        f"{len(defects)} defects"
    )
    sys.exit(bool(defects))


if __name__ == "__main__":
    main()
