"""Compares random models with each pass and without it, until it has acted often enough.

python -m tests.random_models.rewrites --acted 1000 [--first 0] [--passes fuse_gelu] [--jobs 2]
python -m tests.random_models.rewrites --mutations [--passes fuse_gelu] [--jobs 2]
"""

import argparse
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

from tests.random_models.rewrites.drawing import IDIOMS
from tests.random_models.rewrites.hunting import found_by
from tests.random_models.rewrites.mutations import EQUIVALENT, MUTATIONS, Mutation
from tests.random_models.rewrites.proving import proven


def main() -> int:
    """Run the models; 1 if results differ, a mutation is not found, or an equivalent one is."""
    options = _options()
    names = options.passes.split(",") if options.passes else list(IDIOMS)
    if options.mutations:
        table = EQUIVALENT if options.equivalent else MUTATIONS
        pairs = [(name, mutation) for name in names for mutation in table.get(name, ())]
        missed = _mutations(pairs, options.seeds, options.jobs)
        return int(missed != (len(pairs) if options.equivalent else 0))
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        arguments = [(name, options.first, options.acted, options.failures) for name in names]
        failed = False
        for actual in pool.map(proven, *zip(*arguments, strict=True)):
            for failure in actual.failures:
                print(failure)
            print(
                f"{actual.name} acted in {actual.acted} of {actual.models} models, "
                f"{actual.seconds:.0f} s, {len(actual.failures)} failures",
                flush=True,
            )
            failed |= bool(actual.failures) or actual.acted < options.acted
    return int(failed)


def _mutations(pairs: list[tuple[str, Mutation]], seeds: int, jobs: int) -> int:
    """Search for each; the number that was not found."""
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda pair: found_by(*pair, range(seeds), "spawn"), pairs)
        missed = _print_missed(pairs, results)
    print(f"{len(pairs)} mutations, {missed} not found")
    return missed


def _print_missed(pairs: list[tuple[str, Mutation]], results: Iterable[str]) -> int:
    """Print the result for each mutation; the number that no model shows."""
    missed = 0
    for (name, mutation), actual in zip(pairs, results, strict=True):
        print(f"{name}: {mutation.old!r} -> {mutation.new!r}: {actual or 'NOT FOUND'}", flush=True)
        missed += not actual
    return missed


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.random_models.rewrites",
        description="Compare models with a pass of nnapi-cpu and without it.",
    )
    parser.add_argument("--acted", type=int, default=1000, help="how often each pass is to act")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--passes", default="", help="names; default: all there are")
    parser.add_argument("--mutations", action="store_true", help="show that guards are needed")
    parser.add_argument("--equivalent", action="store_true", help="those that change no result")
    parser.add_argument("--seeds", type=int, default=400, help="models for each mutation")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--failures", type=int, default=5, help="stop a pass after so many")
    options = parser.parse_args()
    for name in options.passes.split(",") if options.passes else ():
        if name not in IDIOMS:
            parser.error(
                f"--passes: there are no models for {name}; there are for {', '.join(IDIOMS)}"
            )
        if options.mutations and not options.equivalent and name not in MUTATIONS:
            parser.error(f"--passes: mutations.py has no mutations of {name}")
    return options


if __name__ == "__main__":
    sys.exit(main())
