"""`make bench-roofline`: the part of this machine's limit that steps of the benchmark's models
reach.

    NNAPI_SHIM_THREADS=1 python -m tests.bench.roofline [MODEL ...]

An operation takes at least the time of its multiply-adds at the rate of the tier's instructions,
and at least that of reading and writing each of its tensors once, at the speed of a copy of as many
bytes; the larger is its limit. `limits.c` measures both on one thread, in turns with the models.
All times are those of the processor, which other programs disturb less.
The part is the sum of the limits of all operations of a class, divided by the sum of their times:
operations that take long count most. More than 1 is possible where an algorithm needs fewer
multiplications (Winograd's), or where a tensor is in a smaller cache than its size says.
"""

import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import nnapi_shim
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.drivers.cpu.run import stepping
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.operations import family
from nnapi_shim.tools.observed_run import seconds_of, steps_of
from nnapi_shim.tools.profile import OperationProfile, Profile, profile
from tests.bench import models
from tests.bench.suite.contestants import TRAINED, names

SOURCE = Path(__file__).with_name("limits.c")
RUNS = 15
CLASSES = {
    "products": ("convolution", "matmul"),
    "depthwise": (),
    "element-wise": ("activation", "binary", "comparison", "conversion", "logical", "unary"),
    "reductions": ("normalization", "pooling", "reduction", "softmax"),
    "LSTM": ("lstm", "lstm_quantized", "rnn"),
    "other": (),
}
"""Class -> families of operations."""


class Limits(NamedTuple):
    """What this machine does in a second: multiply-adds, and bytes by how many are touched."""

    float32: float
    int8: float
    bytes: Mapping[int, float]

    def seconds(self, item: OperationProfile) -> float:
        """The least time of an operation; 0 if its work is not known."""
        products = (item.flops or 0) / 2 / (self.int8 if item.is_integer else self.float32)
        moved = item.bytes or 0
        fitting = [size for size in self.bytes if moved <= 2 * size] or [max(self.bytes)]
        return max(products, moved / self.bytes[min(fitting)])


class Sums(NamedTuple):
    """Of a class of operations: their number, seconds, and the seconds of their limits."""

    count: int = 0
    seconds: float = 0.0
    least: float = 0.0

    def plus(self, seconds: float, least: float) -> "Sums":
        """With one operation more."""
        return Sums(self.count + 1, self.seconds + seconds, self.least + least)


def parsed(text: str) -> Limits:
    """What limits.c prints."""
    values = {name: float(value) for name, value in map(str.split, text.splitlines())}
    sizes = {int(name): value for name, value in values.items() if name.isdigit()}
    return Limits(values["float32"], values["int8"], sizes)


def class_of(item: OperationProfile) -> str:
    """The class of an operation, with its kind of numbers."""
    files = family(OperationType[item.name]) if item.name in OperationType.__members__ else ""
    name = next((name for name, families in CLASSES.items() if files in families), "other")
    if item.name == "DEPTHWISE_CONV_2D":
        name = "depthwise"
    return f"{name}, {'int8' if item.is_integer else 'float32'}"


def add(sums: dict[str, Sums], profiled: Profile, limits: Limits) -> None:
    """Add the operations of a profile, with the least time of any run, which other programs have
    disturbed least. Those whose work is done by the steps of others have no time.
    """
    steps = steps_of(profiled.runs_seen)
    for item in profiled.operations:
        seconds = min([seconds_of([run]) for run in steps.get(item.number, ())], default=0.0)
        if seconds and item.fused_into is None:
            key = class_of(item)
            sums[key] = sums[key].plus(seconds, limits.seconds(item))


def model_of(name: str) -> nnapi_shim.Model:
    """A model of the benchmark."""
    trained = TRAINED / f"{name}.tflite"
    if trained.exists():
        return nnapi_shim.load(trained)
    base, _, kind = name.rpartition("_")
    network, model = models.network(base)
    return models.quantized(base, network, model)[1] if kind == "int8" else model


def table(sums: Mapping[str, Sums]) -> list[str]:
    """The rows, in the order of CLASSES."""
    total = sum(each.seconds for each in sums.values())
    rows = ["| class | operations | part of the time | of the limit |", "|---|---|---|---|"]
    for name in CLASSES:
        for kind in ("float32", "int8"):
            each = sums.get(f"{name}, {kind}")
            if each is not None:
                share = f"{each.seconds / total:.0%}".replace("%", " %")
                reached = f"{each.least / each.seconds:.2f}"
                rows.append(f"| {name}, {kind} | {each.count} | {share} | {reached} |")
    return rows


def main(chosen: Sequence[str]) -> None:
    """Print the limits and the table."""
    known = names()
    if unknown := [name for name in chosen if name not in known]:
        sys.exit(f"bench-roofline: {unknown[0]} is none of {', '.join(known)}")
    stepping.monotonic_ns = time.thread_time_ns  # of steps
    tier = library.current().tier
    sums: dict[str, Sums] = defaultdict(Sums)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "limits"
        subprocess.run(["cc", "-O2", str(SOURCE), "-o", str(program)], check=True)
        for name in chosen or known:
            model = model_of(name)
            measured = subprocess.run(
                [program, tier], check=True, stdout=subprocess.PIPE, text=True
            ).stdout
            profiled = profile(model, "nnapi-cpu", runs=RUNS, against_peaks=False)
            add(sums, profiled, parsed(measured))
            print(f"{name}: {' '.join(measured.split())}", file=sys.stderr, flush=True)
    print(f"tier {tier}, one thread")
    print("\n".join(table(sums)))


if __name__ == "__main__":
    main(sys.argv[1:])
