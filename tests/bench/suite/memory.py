"""`make bench-memory`: peak memory of a process until the first result of a model, beside peers.

    python -m tests.bench.suite.memory

Ten trained models, one thread. Ours as a C program that has the weights as `static const` arrays,
and as all others: a Python process that loads the model's file and computes once. Least of ROUNDS
(3) processes each, in MB; PEERS chooses. "No model" is a process that has only imported the runtime
and numpy.
"""

import os
import subprocess
import sys

from tests.bench.suite import c_program, machine
from tests.bench.suite.__main__ import numbers, peers
from tests.bench.suite.contestants import TRAINED, contestants
from tests.bench.suite.figures import OURS
from tests.bench.suite.race import race

MODELS = (
    "ad01_float",
    "deeplabv3_float",
    "keras_lstm_mnist_ptq",
    "kws_dscnn_float",
    "mobilenet_v1_025_224_float",
    "mobilenet_v1_025_224_quant",
    "mobilenet_v2_224_quant",
    "movenet_lightning_ptq",
    "ssd_mobilenet_v1_coco_quant",
    "tf2_mobilenet_v2_224_ptq",
)

_EMPTY = """
import sys
import numpy
__import__(sys.argv[1])
lines = open("/proc/self/status").read().splitlines()
print(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
"""
_MODULES = {"litert": "ai_edge_litert.interpreter"}


def main() -> None:
    """Print a table, row by row."""
    if not TRAINED.exists():
        sys.exit("bench-memory: the trained models, ../shared/models, are not here")
    (rounds,) = numbers("ROUNDS", "3")
    runtimes = [OURS, *peers()]
    about = machine.about(runtimes, "")
    print(", ".join(f"{key} {value}" for key, value in about.items()), flush=True)
    titles = ("model", "C program", "allowed", *runtimes)
    print(f"| {' | '.join(titles)} |\n{'|---' * len(titles)}|")
    empty = [f"{_empty(name):.1f}" for name in runtimes]
    print(f"| no model | \u2013 | {c_program.OTHER / 1e6:.1f} | {' | '.join(empty)} |", flush=True)
    for contestant in contestants(list(MODELS), lambda _: None):
        program = c_program.start(rounds, contestant.name, contestant.all_inputs)
        cells = ["\u2013"] * 2
        if program is not None:
            cells = [f"{program.peak / 1e6:.1f}", f"{program.allowed / 1e6:.1f}"]
        races = [race(contestant, [1], 0, runtimes, "", lambda _: None) for _ in range(rounds)]
        for runtime in runtimes:
            peaks = [
                start.peak
                for each in races
                for entrant, start in each.starts.items()
                if entrant.runtime == runtime
            ]
            cells.append(f"{min(peaks) / 1e6:.1f}" if peaks else "\u2013")
        print(f"| {contestant.name} | {' | '.join(cells)} |", flush=True)


def _empty(runtime: str) -> float:
    """MB of a process that has imported a runtime."""
    command = [sys.executable, "-I", "-c", _EMPTY, _MODULES.get(runtime, runtime)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})
    return int(result.stdout) * 1024 / 1e6


if __name__ == "__main__":
    main()
