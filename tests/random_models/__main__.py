"""The long run: many random models, one per seed.

python -m tests.random_models --seeds 0:20000 [--special] [--operations ADD,RESHAPE] [--jobs 2]
"""

import argparse
import sys
import time
from collections import Counter

from nnapi_shim.hal.enums import OperationType
from tests.random_models.generator import OPERATIONS, random_model
from tests.random_models.workers import Models, results


def main() -> int:
    """Run the models; 1 if any fails."""
    options = _options()
    first, _, end = options.seeds.partition(":")
    seeds = range(int(first), int(end or int(first) + 1))
    names = options.operations.split(",") if options.operations else []
    allowed = tuple(OperationType[name] for name in names) or OPERATIONS
    models = Models(allowed, options.special)
    if options.show:
        for seed in seeds:
            print(f"seed {seed}\n{random_model(seed, None, *models).shown('    ')}")
        return 0
    return 1 if _run(seeds, models, options.jobs, options.failures) else 0


def _run(seeds: range, which: Models, jobs: int, most_failures: int) -> int:
    """The number of failures."""
    began = time.monotonic()
    seen: Counter[str] = Counter()
    models = failures = 0
    shown = 0.0
    for done in results(seeds, jobs, which):
        models += 1
        seen += done.operations
        if done.failure:
            failures += 1
            print(f"\nseed {done.seed}: {done.failure}", flush=True)
        seconds = time.monotonic() - began
        if seconds >= shown + 1 or models == len(seeds):
            shown = seconds
            sys.stderr.write(
                f"\r{models} of {len(seeds)} models, {models / seconds:.1f} per second, "
                f"{len(seen)} operations seen, {failures} failures"
            )
        if failures >= most_failures:
            break
    seconds = time.monotonic() - began
    print(
        f"\nseeds {seeds.start} to {seeds.stop - 1}: {models} models, {sum(seen.values())} "
        f"operations of {len(seen)} kinds, {seconds:.0f} s, {failures} failures"
    )
    missing = [type.name for type in which.allowed if type.name not in seen]
    if missing:
        print(f"never seen: {', '.join(missing)}")
    return failures


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.random_models", description="Compare the devices on random models."
    )
    parser.add_argument("--seeds", default="0:1000", help="first:end, or a single one")
    parser.add_argument(
        "--special", action="store_true", help="with contents at the edges of their types"
    )
    parser.add_argument("--operations", default="", help="names; default: all there are")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--failures", type=int, default=10, help="stop after so many")
    parser.add_argument("--show", action="store_true", help="show the models, do not run them")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
