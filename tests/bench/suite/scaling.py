"""`make bench-scaling`: predicted speed-ups of whole models on 2 to 16 processors.

    python -m tests.bench.suite.scaling

The models of `make bench-models`; MODELS chooses. As `nnapi-shim profile --scaling` does, from the
times of tiles on one thread; measured ones beside them, where this machine has the processors.
"""

import nnapi_shim
from nnapi_shim.tools.scaling import CORES, MATTERS_S, scaling
from tests.bench.suite import machine
from tests.bench.suite.__main__ import wanted
from tests.bench.suite.contestants import contestants
from tests.bench.suite.figures import OURS

RUNS = 30


def main() -> None:
    """Print a row for each model, then the regions with too few tiles."""
    chosen = wanted("bench-scaling")
    about = machine.about([OURS], "")
    print(", ".join(f"{key} {value}" for key, value in about.items()), flush=True)
    most = max(CORES)
    print(
        f"| model | 1, us | {' | '.join(map(str, CORES[1:]))} | measured "
        f"| hybrid | one tile | sharing | last tiles | limit |\n{'|---' * (len(CORES) + 7)}|"
    )
    narrow = []
    for contestant in contestants(chosen, lambda _: None):
        model = nnapi_shim.load(contestant.files[".tflite"])
        report = scaling(model, runs=RUNS)
        alone, *shared = report.predictions
        last = shared[-1]
        real = [
            f"{alone.measured_seconds / item.measured_seconds:.2f} on {item.cores}"
            for item in shared
            if alone.measured_seconds and item.measured_seconds
        ]
        parts = (last.serial_seconds, last.sharing_seconds, last.waiting_seconds)
        cells = [
            f"{1e6 * alone.seconds:.0f}",
            *(f"{item.speedup:.2f}" for item in shared),
            ", ".join(real),
            f"{report.hybrid.speedup:.2f}" if report.hybrid else "",
            *(f"{100 * part / last.seconds:.0f} %" for part in parts),
            last.limit,
        ]
        print(f"| {contestant.name} | {' | '.join(cells)} |", flush=True)
        narrow += [(contestant.name, region) for region in report.narrow]
    print(f"\nregions of {1e6 * MATTERS_S:.0f} us or more with fewer than {most} tiles:")
    for name, region in narrow:
        microseconds = 1e6 * region.seconds / region.calls
        where = ", ".join(region.operations)
        print(f"  {name}: {microseconds:.0f} us, tiles: {region.tiles}, {where}")


if __name__ == "__main__":
    main()
